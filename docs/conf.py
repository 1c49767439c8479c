"""Build the site: pages from docs/, executed scripts from gallery/, the API from attention/."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import joblib
from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin

EXTENSIONS = Path(__file__).parent / "_ext"  # the site's own small ones
sys.path.insert(0, str(EXTENSIONS))

# While somebody writes a lesson: which are executed, as a regular expression; no other page is.
LESSON = os.environ.get("LESSON")

project = "attention"
author = "The attention tutorial authors"
copyright = author
version = release = installed_version("attention-tutorial")

extensions = [
    # Ours that come first: they set how pages are executed, and which are executed again.
    "offline",
    "saved_pictures",
    "freshness",
    # Libraries
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    # Ours: each file; Sphinx loads none twice
    *sorted(path.stem for path in EXTENSIONS.glob("*.py")),
]
# What sphinx-gallery writes beside its pages would be taken for pages.
exclude_patterns = ["_build", *(f"gallery/**.{kind}" for kind in ("ipynb", "py", "zip", "json"))]

# Sphinx-Gallery looks for spaces in the whole path, but only a lesson's own name is in addresses.
suppress_warnings = ["sphinx_gallery.space_in_filename"]

html_theme = "furo"
html_title = "attention"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["tokens.css", "site.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("site.js", "terms.js")]
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
numfig_format = {"figure": "Figure %s."}  # as the captions of the lessons have it
html_copy_source = False
html_domain_indices = False  # the index has all that is in them
html_show_copyright = False

# What needs the site's address is there if the address is known, and never guesses it: canonical
# addresses, the sitemap, what others show of a shared page, and what a server shows for no page.
address = os.environ.get("READTHEDOCS_CANONICAL_URL") or os.environ.get("SITE_URL", "")
html_baseurl = address and address.rstrip("/") + "/"
if html_baseurl:
    extensions.append("sphinxext.opengraph")
    ogp_site_url = html_baseurl
    ogp_type = "article"
    ogp_image, ogp_image_alt = "_static/card.png", "What does a word attend to?"
    ogp_custom_meta_tags = [
        '<meta property="og:image:width" content="1200" />',
        '<meta property="og:image:height" content="630" />',
        '<meta name="twitter:card" content="summary_large_image">',
    ]
    html_additional_pages = {"404": "404.html"}
    html_context = {"html_baseurl": html_baseurl}

epub_title = "Self-attention from scratch: what does a word attend to?"
epub_description = "Self-attention, derived, measured and trained on real reviews."
epub_contributor = author
epub_copyright = f"{author}, MIT License"
epub_uid = "book"
epub_identifier = html_baseurl or "urn:uuid:cff5d212-04aa-48d6-b3ed-9d9f3f922e57"
epub_cover = ("_static/cover.png", "cover.html")  # it shows the title, too
epub_css_files = ["book.css"]
epub_show_urls = "no"  # a link can be followed; its address in brackets would break the sentence
epub_tocscope = "includehidden"
epub_tocdepth = 2  # pages, and the sections of each

language = "en-GB"  # with an underscore each page would load a script of translated words
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off" if LESSON else "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_mime_priority_overrides = [("*", "image/svg+xml", None)]  # to be downloaded, not to be shown

autodoc_member_order = "bysource"
python_maximum_signature_line_length = 72
# Nobody calls it but the package.
nitpick_ignore = [("py:class", "attention.sentiment.trainer.State")]
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Shape", "Source"]

# Plain-text lists of the few foreign objects we name: no build waits for another site.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "inventories/python.txt"),
    "torch": ("https://docs.pytorch.org/docs/stable", "inventories/torch.txt"),
    "numpy": ("https://numpy.org/doc/stable", "inventories/numpy.txt"),
    "matplotlib": ("https://matplotlib.org/stable", "inventories/matplotlib.txt"),
    "tokenizers": ("https://huggingface.co/docs/tokenizers", "inventories/tokenizers.txt"),
}

# Each citation asks for it, and pybtex looks through all packages for what is not registered.
register_plugin("pybtex.backends", "plaintext", Backend, force=True)
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("attention",),
    "nested_sections": False,  # one page of all lessons, none for each part
    "within_subsection_order": "lessons.last_first",
    "image_scrapers": ("predictions.answers_that_hold", "gallery_pages.figures_with_alt_text"),
    "reset_modules": ("matplotlib", "gallery_pages.reset_randomness", "executed_pages.leave_alone"),
    "reset_modules_order": "both",
    "abort_on_example_error": True,
    "inspect_global_variables": False,  # else every x on a page links to torch.Tensor
    "download_all_examples": False,
    # As an integer: True would mean what sphinx-build -j says, which reads pages in parallel, too.
    "parallel": joblib.cpu_count(),
    "filename_pattern": LESSON or "plot_",
    "min_reported_time": float("inf"),  # each page says in words how long it runs
    "write_computation_times": False,
    "show_signature": False,
}

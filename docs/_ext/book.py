"""Write the site as a book, ``attention.epub``, which is read offline and on any device.

Sphinx's own builder writes the pages, the contents and the archive. What is added here is what
EPUB asks for and Sphinx leaves out, and a book without scripts: where the site has what only a
browser can do, the book says so in a sentence. Code and solutions stay folded, as ``<details>``, so
that the answer is not in sight while a reader thinks; a device that does not know folds shows all.

With ``sphinx-build -t book``, a second process writes the book while the first writes the site.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from html import escape, unescape
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from fonts import OF_THE_BOOK, write_fonts
from gallery_pages import without_tex
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder
from sphinx.errors import ExtensionError

COVER = "_static/cover.png"
STYLE = "_static/book.css"
# What scripts bring to life is hidden until they do. By its id: what stands there in the book.
IN_THE_BOOK = {
    "home-lab": "On {} you can type a film review here, and see what a trained model makes of it.",
    "walk": "On {} these steps move, and read a sentence of yours.",
    "review-lab": "On {} you can type a review here, which three models then read side by side.",
    "workbench": "Here {} has a workbench, where you can ask of each number where it comes from.",
    "writer-lab": "On {} the model continues a text of yours here.",
}
FOR_SCRIPTS = re.compile(r"<script\b|<[^>]*\s(hidden|data-part)\b")
CODE = re.compile("<pre>.*?</pre>", re.DOTALL)
LINK = re.compile('<a [^>]*?href="([^"]*)"[^>]*>')
COLOUR = re.compile(r"var\([\w-]+, (#\w+)\)")  # what the site's style sheets set, and else
NAMESPACES = {
    "math": "http://www.w3.org/1998/Math/MathML",
    "svg": "http://www.w3.org/2000/svg",
}
PROPERTIES = {"math": "mathml", "svg": "svg"}
ITEM = re.compile(r'<item id="epub-\d+" href="([^"]+)" media-type="[^"]+"')
# What one can rely on without seeing the book (https://www.w3.org/TR/epub-a11y-11/).
ACCESS = """<meta property="schema:accessMode">textual</meta>
    <meta property="schema:accessMode">visual</meta>
    <meta property="schema:accessModeSufficient">textual</meta>
    <meta property="schema:accessibilityFeature">alternativeText</meta>
    <meta property="schema:accessibilityFeature">MathML</meta>
    <meta property="schema:accessibilityFeature">tableOfContents</meta>
    <meta property="schema:accessibilityHazard">none</meta>
"""
writing: list[subprocess.Popen[bytes]] = []


def leave_to_the_site(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a sentence in the place of what needs a browser, and leave out what is downloaded."""
    if app.builder.name != "epub":
        return
    for node in list(doctree.findall(nodes.raw)):
        if not FOR_SCRIPTS.search(node.astext()):
            node.children[:] = [nodes.Text(re.sub("</?noscript>", "", node.astext()))]
            continue
        found = re.search(r'\sid="([\w-]+)"', node.astext())
        if found and found[1] in IN_THE_BOOK:
            node.replace_self(on_the_site(app, docname, IN_THE_BOOK[found[1]], found[1]))
        else:
            node.parent.remove(node)
    for node in list(doctree.findall(nodes.Element)):
        classes = node.get("classes", [])
        if "run-it-yourself" in classes:
            text = "This page is a program; {} offers it as a script and as a notebook."
            node[:] = [on_the_site(app, docname, text)]


def on_the_site(app: Sphinx, docname: str, text: str, anchor: str = "") -> nodes.paragraph:
    """Write a sentence that names the site, with a link where its address is known."""
    before, after = text.split("{}")
    site = nodes.Text("the site")
    if base := app.config.html_baseurl:
        address = f"{base}{docname}.html" + (anchor and f"#{anchor}")
        site = nodes.reference("", "the site", refuri=address, internal=False)
    return nodes.paragraph("", "", nodes.Text(before), site, nodes.Text(after))


class Page:
    """The body of a page, as XHTML."""

    def __init__(self, app: Sphinx, name: str, body: str) -> None:
        self.app, self.name = app, name
        # Code has two thirds of a page's elements, and nothing to mend but its links.
        self.code = [LINK.sub(self.link_in_code, code) for code in CODE.findall(body)]
        places = count()
        body = CODE.sub(lambda _: f"<pre>{next(places)}</pre>", body)
        self.tree = BeautifulSoup(body, "html.parser")

    def write(self) -> str:
        self.mend_paragraphs()
        for output in self.tree("details", "long-output"):
            output.summary.decompose()
            output.unwrap()
        self.mend_atlases()
        self.mend_cards()
        for link in self.tree("a", href=True):
            link.attrs.pop("download", None)
            if address := self.in_the_book(link["href"]):
                link["href"] = address
            else:
                link.attrs = {}
        for picture in self.tree("img", srcset=True):
            self.give_size(picture)
        for part in self.tree(["math", "svg"]):
            part["xmlns"] = NAMESPACES[part.name]
            if "viewbox" in part.attrs:  # HTML knows no capitals
                part["viewBox"] = part.attrs.pop("viewbox")
        body = COLOUR.sub(r"\1", str(self.tree))
        return re.sub(r"<pre>(\d+)</pre>", lambda place: self.code[int(place[1])], body)

    def give_size(self, picture: Tag) -> None:
        """Show a picture, which has the pixels of a fine screen, as wide as it was drawn."""
        del picture["srcset"]
        file = Path(self.app.outdir, "_images", posixpath.basename(picture["src"]))
        width = int.from_bytes(file.read_bytes()[16:20], "big")  # where a PNG says it
        picture["width"] = str(width // 2)

    def link_in_code(self, link: re.Match[str]) -> str:
        address = self.in_the_book(unescape(link[1]))
        return f'<a href="{escape(address)}">' if address else "<a>"

    def in_the_book(self, link: str) -> str | None:
        """Return the address of the page in the book, else on the site, if that is known."""
        address = urlsplit(link)
        if address.scheme or not address.path:
            return link
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(self.name), unquote(address.path))
        )
        page, suffix = posixpath.splitext(target)
        if suffix in (".html", ".xhtml") and page in {*self.app.env.found_docs, "genindex"}:
            path = posixpath.splitext(address.path)[0] + ".xhtml"
            return address._replace(path=path).geturl()
        base = self.app.config.html_baseurl
        return base and base + address._replace(path=target).geturl()

    def mend_paragraphs(self) -> None:
        """Let no paragraph stand in another, or in what one clicks at to unfold something."""
        for paragraph in self.tree("p"):
            if paragraph.find("p", recursive=False):
                paragraph.name = "div"
        for summary in self.tree("summary"):
            for paragraph in summary("p", recursive=False):
                paragraph.name = "span"
            # The words for what is open already, and an arrow beside the device's own.
            for part in summary(class_=["expanded", "sd-summary-state-marker"], recursive=False):
                part.decompose()

    def mend_atlases(self) -> None:
        """Show of an atlas all maps, but only the first one large, because no button opens it."""
        for style in self.tree("style"):
            style.decompose()
        for atlas in self.tree(class_="head-atlas"):
            for label in atlas("label"):
                button, picture = label.find_all(recursive=False)
                del picture["aria-hidden"]
                picture.attrs |= {"role": "img", "aria-label": button["aria-label"]}
                large = label.find_next_sibling().extract()
                if "checked" in button.attrs:
                    first = large
                button.decompose()
                label.name = "span"
            for layer in atlas("fieldset"):
                layer.name, layer.legend.name = "div", "p"
            note = self.tree.new_tag("p", string="On the site, each of these maps can be opened.")
            atlas.extend([first, note])

    def mend_cards(self) -> None:
        """Make a card's title its link, and leave of the lessons' map the links, without marks."""
        for link in self.tree("a", "sd-stretched-link"):
            title = link.find_parent(class_="sd-card").find(class_="sd-card-title")
            title.string.wrap(self.tree.new_tag("a", href=link["href"]))
            link.decompose()
        for lessons in self.tree(class_="lesson-map"):
            for part in lessons(["svg", "img", "button"]) + lessons(class_="about"):
                part.decompose()
        for part in self.tree(class_=["stops", "answer"]):
            part.decompose()


def finish_page(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Write a page as EPUB asks for it: XML, one style sheet, no link that leads nowhere."""
    if app.builder.name != "epub":
        return
    context["css_files"] = [file for file in context["css_files"] if file.filename == STYLE]
    context["metatags"] = ""
    context.pop("report_link", None)
    context["alt"] = f"Cover: {app.config.epub_title}"
    if body := context.get("body"):
        context["body"] = Page(app, page, body).write()


class Book(Epub3Builder):
    """Sphinx's builder, with what EPUB and its readers need beyond it."""

    def init(self) -> None:
        super().init()
        language = f'lang="{self.config.language}" xml:lang="{self.config.language}"'
        self.html_tag = Epub3Builder.html_tag.replace("<html", f"<html {language}")

    def get_toc(self) -> None:
        super().get_toc()
        for entry in self.refnodes:
            entry["text"] = without_tex(entry["text"])

    def toc_metadata(self, *arguments: Any) -> dict[str, Any]:
        return super().toc_metadata(*arguments) | {"uid": self.config.epub_identifier}

    def build_content(self) -> None:
        self.drop_unused()
        write_fonts(OF_THE_BOOK, self.outdir)  # before Sphinx lists the files of the book
        super().build_content()
        self.complete_content()

    def drop_unused(self) -> None:
        """Leave out what no page shows: scripts, pictures for wide screens, the theme's files."""
        pages = {self.get_target_uri(name) for name in self.env.found_docs} | {"genindex.xhtml"}
        kept = {"mimetype", "META-INF/container.xml", ".buildinfo", COVER, STYLE, *pages}
        kept.update(OF_THE_BOOK)
        for name in pages:
            page = Path(self.outdir, name).read_text(encoding="utf-8")
            for address in re.findall(r'\bsrc="([^"]+)"', page):
                kept.add(posixpath.normpath(posixpath.join(posixpath.dirname(name), address)))
        for path in self.outdir.rglob("*"):
            if path.is_file() and path.relative_to(self.outdir).as_posix() not in kept:
                path.unlink()

    def complete_content(self) -> None:
        """Say in the list of files which ones hold MathML or SVG, and which is the cover."""

        def with_properties(item: re.Match[str]) -> str:
            file = self.outdir / unquote(item[1])
            text = file.read_text(encoding="utf-8") if file.suffix == ".xhtml" else ""
            held = [kind for tag, kind in PROPERTIES.items() if f"<{tag} " in text]
            held += ["cover-image"] * (item[1] == COVER)
            return f'{item[0]} properties="{" ".join(held)}"' if held else item[0]

        path = self.outdir / "content.opf"
        text = path.read_text(encoding="utf-8").replace("</metadata>", f"{ACCESS}</metadata>")
        path.write_text(ITEM.sub(with_properties, text), encoding="utf-8")


def begin(app: Sphinx, builder: Any) -> None:
    """Begin to write the book, from the pages that have been read."""
    if app.builder.name == "html" and app.tags.has("book"):
        options = ["-q", "-n", "-W", "--keep-going", "-j", "auto", "-b", "epub"]
        options += ["-d", app.doctreedir]
        command = [sys.executable, "-m", "sphinx", *options, app.srcdir, app.outdir.parent / "epub"]
        writing.append(subprocess.Popen(command))


def put_into_site(app: Sphinx, exception: Exception | None) -> None:
    """Wait for the book, and offer it on the site."""
    while writing:
        if writing.pop().wait() == 0:
            shutil.copy(app.outdir.parent / "epub" / "attention.epub", app.outdir)
        elif not exception:
            raise ExtensionError("the book was not written, for the reason above")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_builder(Book, override=True)
    app.connect("write-started", begin)
    app.connect("build-finished", put_into_site)
    app.connect("doctree-resolved", leave_to_the_site, priority=900)  # after the exercises' boxes
    app.connect("html-page-context", finish_page, priority=900)  # after all who write on a page
    return {"parallel_read_safe": True}

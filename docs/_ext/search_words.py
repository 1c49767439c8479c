"""Let the site's own search lead to a lesson by the words that people search for.

Sphinx's search ranks a page's text by whether a word is in it at all, so that "padding mask" found
whatever names both words. An entry of the index counts most; the glossary's terms and synonyms are
such entries by themselves, and here each lesson gets those for what it teaches.

A second build writes only what has changed, and Sphinx then forgets the entries of all other pages
(its issue 12599), so these are read into the index again.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WORDS = {
    "gallery/core/plot_1_qkv_derivation": (
        "self-attention",
        "query, key and value",
        "attention weights",
        "softmax",
    ),
    "gallery/core/plot_2_attention_layer": ("nn.Linear", "attention layer"),
    "gallery/core/plot_3_scaling_variance": ("scaled dot product", "temperature"),
    "gallery/core/plot_4_masks": ("padding mask", "causal mask", "attention mask"),
    "gallery/core/plot_5_multi_head": ("multi-head attention", "attention head"),
    "gallery/core/plot_6_positions": ("positional encoding", "positional embedding"),
    "gallery/core/plot_7_transformer_block": (
        "transformer block",
        "layer norm",
        "layer normalisation",
        "residual connection",
        "feed-forward layer",
    ),
    "training": ("training command", "training options"),
    "gallery/core/plot_8_sentiment_training": ("sentiment classification", "training loop"),
    "gallery/core/plot_9_reading_attention": ("explanation", "interpretability"),
    "gallery/deeper/plot_1_low_rank_qk": ("low rank", "QK circuit"),
    "gallery/deeper/plot_6_real_model": ("BERT", "attention heads of a real model"),
    "gallery/deeper/plot_9a_rotary": ("RoPE", "rotary positional embedding"),
    "gallery/deeper/plot_9b_grouped_and_latent": ("grouped-query attention", "GQA", "MLA"),
    "gallery/deeper/plot_9c_cache": ("KV cache",),
    "gallery/deeper/plot_9d_fused_kernel": ("FlashAttention", "fused kernel"),
    "gallery/deeper/plot_9f_writing": ("GPT", "language model", "decoder-only transformer"),
}


class AddEntries(SphinxTransform):
    """Give a page its entries before Sphinx collects those of all pages.

    They lead to the page's first section: the search quotes the place that an entry leads to, and
    the place that the directive makes is empty.
    """

    default_priority = 840  # the collection: 850

    def apply(self, **_: Any) -> None:
        words = WORDS.get(self.env.docname, ())
        for section in list(self.document.findall(nodes.section))[:1]:
            entries = [("single", word, section["ids"][0], "main", None) for word in words]
            section.insert(1, addnodes.index(entries=entries))


class Written:
    """The pages that this build has written, which Sphinx itself has indexed."""

    def __init__(self) -> None:
        self.pages: set[str] = set()

    def remember(self, _app: Sphinx, _page: nodes.document, docname: str) -> None:
        self.pages.add(docname)

    def index_others(self, app: Sphinx) -> list[tuple[str, dict[str, Any], str]]:
        """Index the pages that are not written this time; add no page to the site."""
        if self.pages and app.builder.name == "html":
            for docname in sorted(app.env.found_docs - self.pages):
                title = app.env.titles[docname].astext()
                app.builder.index_page(docname, app.env.get_doctree(docname), title)
        return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(AddEntries)
    written = Written()
    app.connect("doctree-resolved", written.remember)
    app.connect("html-collect-pages", written.index_others)
    return {"parallel_read_safe": True}

"""What readers search for is among the first three results."""

import pytest

# The query, and pages of which one must be found; a term's entry in the glossary is such a page.
QUERIES = {
    "positional encoding": ["plot_6_positions", "glossary.html#term-positional-encoding"],
    "RoPE": ["plot_9a_rotary", "glossary.html#term-RoPE", "glossary.html#term-rotary"],
    "KV cache": ["plot_9c_cache", "glossary.html#term-KV-cache"],
    "layer norm": ["plot_7_transformer_block", "glossary.html#term-layer-norm"],
    "GPT": ["plot_9f_writing", "glossary.html#term-GPT"],
    "padding mask": ["plot_4_masks", "glossary.html#term-padding-mask"],
    "causal mask": ["plot_4_masks", "glossary.html#term-causal-mask"],
    "residual connection": ["plot_7_transformer_block", "glossary.html#term-residual-connection"],
}


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_searched_for_is_found_first(visit, http_root, query):
    seen = visit(f"{http_root}search.html?q={query.replace(' ', '+')}")
    results = seen.page.locator("ul.search > li > a")
    results.first.wait_for()
    seen.page.wait_for_load_state("networkidle")
    first = [results.nth(i).get_attribute("href") for i in range(min(3, results.count()))]
    wanted = [target.lower() for target in QUERIES[query]]
    assert any(target in link.lower() for link in first for target in wanted), first
    assert seen.complaints == []

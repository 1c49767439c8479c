import re

import pytest
import torch
from bs4 import BeautifulSoup
from loops import for_each

from attention.plotting import head_atlas

TOKENS = ["[CLS]", "good", "film", "[SEP]"]


def read(atlas):
    """Find what a browser would; each element but ``input`` is closed."""
    page = BeautifulSoup(atlas, "html.parser")
    for tag in {each.name for each in page(True)} - {"input"}:
        closed = re.findall(rf"</{tag}>|<{tag}\b[^>]*/>", atlas)
        assert len(closed) == len(page(tag)), tag
    return page


def softmaxed(layers=2, heads=3, n=4):
    return torch.softmax(3 * torch.randn(layers, heads, n, n), dim=-1)


def test_every_head_is_a_radio_button_with_a_name_of_its_own():
    page = read(head_atlas(softmaxed(), TOKENS))
    radios = page("input")
    assert len(radios) == 6
    assert len({radio["name"] for radio in radios}) == 1
    assert sum("checked" in radio.attrs for radio in radios) == 1
    places = [re.match(r"Layer (\d), head (\d): ", radio["aria-label"]) for radio in radios]
    assert [(int(p[1]), int(p[2])) for p in places] == [(i, j) for i in range(2) for j in range(3)]
    ids = [each["id"] for each in page(id=True)]
    assert len(set(ids)) == len(ids)
    assert {use["href"].removeprefix("#") for use in page("use")} == set(ids)


EVEN = [0.25] * 4
BACK = [EVEN, [0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1]]


@for_each(
    case=(
        (torch.eye(4), "100 % of the weight on the same token"),
        (torch.tensor(BACK), "70 % of the weight on the previous token"),
        (torch.tensor(BACK).flip(0, 1), "70 % of the weight on the next token"),
        (torch.tensor([0.1, 0.1, 0.7, 0.1]).expand(4, 4), "70 % of the weight on “film”"),
    ),
)
def test_its_name_says_where_most_of_the_weight_falls(case):
    table, words = case
    assert f"Layer 0, head 0: {words}" in head_atlas(table[None, None], TOKENS)


def test_a_token_that_occurs_twice_is_named_with_its_position():
    table = torch.tensor([0.1, 0.1, 0.7, 0.1]).expand(1, 1, 4, 4)
    assert "on “film” at position 2." in head_atlas(table, ["film", "a", "film", "b"])


def test_the_map_has_each_weight_where_it_belongs():
    weights = torch.linspace(0, 1, 16)[torch.randperm(16)].reshape(1, 1, 4, 4)
    page = read(head_atlas(weights, TOKENS))
    drawn = torch.zeros(4, 4)
    for path in page("path"):
        if "opacity" in path.attrs:
            for x, y, width in re.findall(r"M(\d) (\d)h(\d)", path["d"]):
                drawn[int(y), int(x) : int(x) + int(width)] += float(path["opacity"])
    torch.testing.assert_close(drawn, (10 * weights[0, 0]).round() / 10)


def test_each_token_is_listed_with_its_strongest_key():
    table = torch.tensor([[0.9, 0.1], [0.8, 0.2]])[None, None]
    atlas = head_atlas(table, ["a", "b"])
    assert re.findall("<li>(.*?)</li>", atlas) == ["a: a 0.90", "b: a 0.80"]


def test_all_text_is_escaped_and_nothing_comes_from_elsewhere():
    bad = '"><script>alert(1)</script>'
    atlas = head_atlas(torch.ones(1, 1, 2, 2) / 2, [bad, "b"])
    assert not read(atlas)(["script", "img", "link"])
    assert bad not in atlas
    assert "://" not in atlas
    assert "url(" not in atlas


def test_two_atlases_on_a_page_share_nothing():
    one, other = (read(head_atlas(softmaxed(), TOKENS)) for _ in range(2))
    assert one.input["name"] != other.input["name"]


def test_72_heads_of_a_sentence_stay_small():
    assert len(head_atlas(softmaxed(6, 12, 16), ["token"] * 16)) < 250_000


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 5, 5), (3, 4, 4), (1, 2, 3, 4, 4)])
def test_tokens_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match=r"expected shape \(layers, heads, 4, 4\)"):
        head_atlas(torch.ones(shape), TOKENS)

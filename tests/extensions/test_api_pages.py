import inspect
from types import SimpleNamespace
from typing import Annotated

import api_pages
import pytest
from pydantic import BaseModel, Field

import attention


@pytest.mark.parametrize(
    ("what", "name", "is_used"),
    [
        ("function", "attention.used", True),
        ("function", "attention.unused", False),
        ("function", "attention.unknown", False),
        ("method", "attention.used", False),
    ],
)
def test_an_entry_ends_with_the_pages_that_use_it(tmp_path, what, name, is_used):
    uses = tmp_path / "gallery" / "uses"
    uses.mkdir(parents=True)
    cards = "`/gallery/deeper/plot_1_low_rank_qk` `/gallery/core/plot_4_masks`\n"
    (uses / "attention.used.examples").write_text(cards)
    (uses / "attention.unused.examples").write_text("\n")
    lines = ["Text."]
    app = SimpleNamespace(srcdir=tmp_path)
    api_pages.list_pages_that_use_it(app, what, name, None, None, lines)
    used = ["", ".. rubric:: Pages that use it", ""]
    used += ["- :doc:`/gallery/core/plot_4_masks`", "- :doc:`/gallery/deeper/plot_1_low_rank_qk`"]
    assert lines == ["Text."] + used * is_used


@pytest.mark.parametrize(
    ("what", "lines", "kept"),
    [
        ("attribute", ["Widths: two."], ["\\ ", "Widths: two."]),
        (
            "function",
            ["Text.", "Returns:", "    Shapes: two."],
            ["Text.", "Returns:", "    \\ ", "    Shapes: two."],
        ),
        ("function", ["Text: none."], ["Text: none."]),
    ],
)
def test_sentences_with_a_colon_are_kept(what, lines, kept):
    api_pages.keep_sentences(None, what, "", None, None, lines)
    assert lines == kept


def test_a_public_name_on_no_page_is_missed(monkeypatch):
    collected = []

    def warning(text, *values):
        collected.append(text % values)

    monkeypatch.setattr(api_pages.logger, "warning", warning, raising=False)
    objects = {f"attention.{name}": None for name in attention.__all__}
    domain = SimpleNamespace(objects=objects)
    env = SimpleNamespace(domains=SimpleNamespace(python_domain=domain))
    api_pages.miss_nothing(None, env)
    assert collected == []
    del objects["attention.causal_mask"]
    api_pages.miss_nothing(None, env)
    assert collected == ["api: attention.causal_mask is on no page"]


def test_a_configuration_is_shown_with_plain_types():
    class Small(BaseModel):
        size: Annotated[int, Field(ge=1)] = 3

    api_pages.show_plain_types(Small)
    assert Small.__annotations__ == {"size": int}
    assert str(inspect.signature(Small)) == "(**fields)"
    with pytest.raises(ValueError, match="size"):  # what is shown changes nothing else
        Small(size=0)

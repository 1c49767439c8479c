import json
import re
from types import SimpleNamespace

import live_models
import pytest
from sphinx.builders.html import _assets


def call(script: str) -> tuple[str, list]:
    """Take a script apart: the function it calls, and with what.

    The numbers in it are held by tests/javascript, where scripts compute what the package does.
    """
    name, arguments = re.fullmatch(r"(\w+)\((.*)\);\n", script).groups()
    return name, json.loads(f"[{arguments}]")


def test_a_build_writes_the_committed_models_and_words_in_the_order_of_their_ids(tmp_path):
    (tmp_path / "_static").mkdir()
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="epub"))
    live_models.write_scripts(app, None)
    app.builder.name = "html"
    live_models.write_scripts(app, RuntimeError("a page failed"))
    assert list((tmp_path / "_static").iterdir()) == []
    live_models.write_scripts(app, None)
    scripts = {path.name: path.read_text() for path in (tmp_path / "_static").iterdir()}
    names = ("words", "writer", "tiny", *live_models.KINDS)
    assert set(scripts) == {f"lab-{name}.js" for name in names}
    sizes = {name: len(script.encode()) for name, script in scripts.items()}
    assert sizes.pop("lab-writer.js") <= 500_000
    assert sum(sizes.values()) < 1_200_000
    name, (words,) = call(scripts["lab-words.js"])
    assert name == "receiveWords"
    ids = json.loads((live_models.MODELS / "tokenizer.json").read_text())["model"]["vocab"]
    assert [ids[word] for word in words.split(" ")] == list(range(len(ids)))
    for kind in live_models.KINDS:
        _, (config, _) = call(scripts[f"lab-{kind}.js"])
        assert (config["kind"], config["shift"]) == (kind, len(ids))


@pytest.mark.parametrize("kind", ["js", "css"])
def test_what_a_page_loads_is_on_no_other_and_edited_files_reach_the_site(
    site, monkeypatch, tmp_path, kind
):
    for name in ("one", "two"):
        for ending in ("js", "css"):
            (tmp_path / f"{name}.{ending}").write_text(f"/* why */ old({name});\n")
    parts = {"index": ["one", "two"], "elsewhere": ["one"]}
    monkeypatch.setattr(live_models, "write_scripts", lambda *_: None)
    monkeypatch.setattr(live_models, "SOURCES", tmp_path)
    monkeypatch.setattr(live_models, "SCRIPTS", parts)
    monkeypatch.setattr(live_models, "STYLES", parts)

    def build() -> tuple[str, str]:
        _assets._file_checksum_inner.cache_clear()  # each build is a process of its own
        app = site("Text.", "live_models", pages={"other": ":orphan:\n\nOther\n=====\n"}).build()
        assert "_static/lab/" not in app.page("other")
        (address,) = re.findall(rf'"(_static/lab/[^"]+\.{kind}\?[^"]+)"', app.page())
        return address, (app.outdir / address.partition("?")[0]).read_text()

    before = build()
    assert re.findall(r"\w+\(\w+\)", before[1]) == ["old(one)", "old(two)"]
    assert "why" not in before[1]
    (tmp_path / f"two.{kind}").write_text("new(two);\n")
    after = build()
    assert re.findall(r"\w+\(\w+\)", after[1]) == ["old(one)", "new(two)"]
    assert after[0] != before[0]  # else a browser shows what it has kept
    assert build() == after


@pytest.mark.parametrize("page", live_models.SCRIPTS)
def test_a_script_stands_behind_those_it_takes_something_from(page):
    there = set()
    for name in live_models.SCRIPTS[page]:
        script = (live_models.SOURCES / f"{name}.js").read_text("utf-8")
        taken = re.findall(r"const \{[^}]*\} = lab\.(\w+);", script)
        assert there.issuperset(taken), name
        there.update(re.findall(r"\blab\.(\w+) = ", script))
    assert there


def test_the_parts_of_the_walk_weigh_at_most_40_kb():
    parts = [path for path in live_models.SOURCES.glob("walk*") if path.suffix in (".js", ".css")]
    assert {path.stem for path in parts} == {"walk", "walk-frames", "walk-texts"}
    assert sum(len(live_models.as_sent(path).encode()) for path in parts) < 40_000

import re
from types import SimpleNamespace

import from_scratch
import pytest

LESSON = '''"""
.. lesson:: A lesson
   :minutes: 1
   :extra: plot

{title}
{line}

Text.
"""

import torch

# %%
# More text.

{cell}

# %%
print("not a piece")
'''


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """Write lessons of one cell each; return the text that is collected of them."""
    folder = tmp_path / "gallery" / "core"
    folder.mkdir(parents=True)

    def write(*cells: str) -> str:
        for i, cell in enumerate(cells, start=1):
            title = f"Lesson {i}: a title"
            text = LESSON.format(title=title, line="=" * len(title), cell=cell)
            (folder / f"plot_{i}_lesson.py").write_text(text, encoding="utf-8")
        pages = [f"gallery/core/plot_{i}_lesson" for i in range(1, len(cells) + 1)]
        monkeypatch.setattr(from_scratch, "lessons", lambda: pages)
        return from_scratch.from_scratch(tmp_path)

    return write


def piece(code: str) -> str:
    return f"# attention_from_scratch.py\n{code}"


def test_only_marked_cells_are_collected_with_their_comments_in_the_order_of_the_lessons(lessons):
    first = "# About f.\n@torch.no_grad()\ndef first(x):\n    return x  # one"
    text = lessons(
        piece(f"{first}\n\n\n# About g.\ndef g():\n    pass"),
        "def second(x):\n    return x",
        "# Setup: the third.\n" + piece("class Third:\n    pass"),
    )
    assert text.startswith('"""Attention from scratch')
    assert "second" not in text
    assert text.endswith(
        f'# From "Lesson 1: a title"\n{first}\n\n\n# About g.\ndef g():\n    pass\n\n\n'
        '# From "Lesson 3: a title"\nclass Third:\n    pass\n\n\n'
        'if __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n'
    )


def test_a_later_definition_takes_the_place_of_the_earlier_one(lessons):
    text = lessons(
        piece("def first():\n    return 1\n\n\ndef second():\n    return 2"),
        piece("def third():\n    return 3\n\n\ndef first():\n    return 4"),
    )
    lines = re.findall("^# From .*|^def .*|    return .", text, re.MULTILINE)
    assert lines == [
        *('# From "Lesson 2: a title"', "def first():", "    return 4"),
        *('# From "Lesson 1: a title"', "def second():", "    return 2"),
        *('# From "Lesson 2: a title"', "def third():", "    return 3"),
    ]


def test_a_piece_that_does_something_is_refused(lessons):
    with pytest.raises(ValueError, match=r"plot_1_lesson.py.*no function and no class: print\(f\)"):
        lessons(piece("def f():\n    pass\n\n\nprint(f)"))


def test_the_site_offers_the_file(lessons, tmp_path):
    text = lessons(piece("def f():\n    return 1"))
    app = SimpleNamespace(srcdir=tmp_path / "docs", outdir=tmp_path, builder=SimpleNamespace())
    file = tmp_path / from_scratch.NAME
    for app.builder.name, problem in (("html", RuntimeError("failed")), ("epub", None)):
        from_scratch.write_file(app, problem)
        assert not file.exists()
    app.builder.name = "html"
    from_scratch.write_file(app, None)
    assert file.read_text(encoding="utf-8") == text

"""A review's words coloured by their weights, as HTML and for a terminal."""

import html
from collections.abc import Sequence

from attention._console import spelled

#: The classes by which MathJax leaves words such as "$5-$10" alone in a notebook.
NO_FORMULAS = "mathjax_ignore tex2jax_ignore"
# As in attention.plotting.style, which would load matplotlib.
_SKY, _ORANGE = "86,180,233", "213,94,0"
_DASHED = "border-bottom:.12em dashed;"  # shows the sign without colour
# Five steps of the 256-colour cube from light to dark, each with a readable text colour. A negative
# number is underlined, too, which shows its sign without colour.
_BLUES = ("0", "30;48;5;195", "30;48;5;153", "1;30;48;5;111", "1;97;48;5;25")
_ORANGES = ("0", "4;30;48;5;223", "4;30;48;5;216", "1;4;30;48;5;209", "1;4;97;48;5;130")


class Html(str):
    """Markup that a notebook or a page of the gallery renders."""

    def _repr_html_(self) -> str:
        return str(self)


def words_as_html(tokens: Sequence[str], weights: Sequence[float], caption: str = "") -> Html:
    """Write words as HTML, each on a background that is stronger the larger its weight.

    The weight is also the word's title, which a browser shows when the pointer is over the word.
    Even the largest weight gets only a light, half transparent blue, so that the words can be read
    on white and on black. Signed contributions can replace the weights; negative contributions get
    orange and a dashed line below.

    Args:
        tokens: The words.
        weights: A weight or a signed contribution for each word.
        caption: A line above the words.

    Returns:
        One ``<figure>``, in which all text is escaped.

    Raises:
        ValueError: If there are not as many weights as words.

    Example:
        >>> from attention.plotting import words_as_html
        >>> words_as_html(["<b>", "good"], [0.25, 0.75]).count("&lt;b&gt;")
        1
        >>> words_as_html(["dull", "end"], [-0.5, 0.1]).count("dashed")
        1
    """
    top = _largest(tokens, weights)
    sign = "+" if min(weights, default=0.0) < 0 else ""
    words = " ".join(
        f'<span title="{weight:{sign}.3f}" style="padding:.1em .15em;border-radius:.2em;'
        f"{_DASHED if weight < 0 else ''}background:rgba({_ORANGE if weight < 0 else _SKY},"
        f'{abs(weight) / top * 0.4:.2f})">{html.escape(spelled(token))}</span>'
        for token, weight in zip(tokens, weights, strict=True)
    )
    above = f"<figcaption>{html.escape(spelled(caption))}</figcaption>" if caption else ""
    return Html(f'<figure class="attention-words {NO_FORMULAS}">{above}<p>{words}</p></figure>')


def words_as_ansi(tokens: Sequence[str], weights: Sequence[float]) -> str:
    """Write words for a terminal, as :func:`words_as_html` does, and in bold from 0.6 of the top.

    Returns:
        A line with ANSI colours.

    Example:
        >>> from attention.plotting import words_as_ansi
        >>> "good" in words_as_ansi(["good"], [1.0])
        True
    """
    top = _largest(tokens, weights)
    words = []
    for token, weight in zip(tokens, weights, strict=True):
        shades = _ORANGES if weight < 0 else _BLUES
        shade = shades[min(int(abs(weight) / top * len(shades)), len(shades) - 1)]
        words.append(f"\033[{shade}m{spelled(token)}\033[0m")
    return " ".join(words)


def _largest(tokens: Sequence[str], weights: Sequence[float]) -> float:
    if len(tokens) != len(weights):
        raise ValueError(f"weights: expected {len(tokens)}, one per word, got {len(weights)}")
    return max(map(abs, weights), default=0.0) or 1.0

"""A review's words coloured by their weights, as HTML and for a terminal."""

import html
from collections.abc import Sequence

from attention._console import spelled

#: The classes by which MathJax leaves words such as "$5-$10" alone in a notebook.
NO_FORMULAS = "mathjax_ignore tex2jax_ignore"
_DASHED = "border-bottom:.12em dashed;"  # shows the sign without colour
# The colours of attention.plotting.style: in red, green and blue, lighter because they lie on a
# dark page, too; and as five of a terminal's 256 colours from light to dark, each with a readable
# text colour. What is against is underlined, too, which shows its sign without colour.
_WEIGHT = "130,80,210", ("0", "30;48;5;189", "30;48;5;183", "1;30;48;5;141", "1;97;48;5;55")
_FOR = "200,140,20", ("0", "30;48;5;230", "30;48;5;222", "1;30;48;5;179", "1;97;48;5;94")
_AGAINST_SHADES = ("0", "4;30;48;5;225", "4;30;48;5;218", "1;4;30;48;5;211", "1;4;97;48;5;125")
_AGAINST = "205,60,125", _AGAINST_SHADES


class Html(str):
    """Markup that a notebook or a page of the gallery renders."""

    def _repr_html_(self) -> str:
        return str(self)


def words_as_html(tokens: Sequence[str], weights: Sequence[float], caption: str = "") -> Html:
    """Write words as HTML, each on a background that is stronger the larger its weight.

    The weight is also the word's title, which a browser shows when the pointer is over the word.
    Even the largest weight gets only a light, half transparent violet, so that the words can be
    read on white and on black. Signed contributions can replace the weights: if one is negative,
    those that are not get the colour of evidence for something, and the others the colour of
    evidence against it and a dashed line below.

    Args:
        tokens: The words.
        weights: A weight or a signed contribution for each word.
        caption: A line above the words.

    Returns:
        One ``<figure>``, in which all text is escaped.

    Raises:
        ValueError: If there are not as many weights as words.

    Example:
        >>> words_as_html(["<b>", "good"], [0.25, 0.75]).count("&lt;b&gt;")
        1
        >>> words_as_html(["dull", "end"], [-0.5, 0.1]).count("dashed")
        1
    """
    top = _largest(tokens, weights)
    sign = "+" if min(weights, default=0.0) < 0 else ""
    words = " ".join(
        f'<span title="{weight:{sign}.3f}" style="padding:.1em .15em;border-radius:.2em;'
        f"{_DASHED if weight < 0 else ''}background:rgba({colour},"
        f'{abs(weight) / top * 0.4:.2f})">{html.escape(spelled(token))}</span>'
        for token, weight, (colour, _) in zip(tokens, weights, _looks(weights), strict=True)
    )
    above = f"<figcaption>{html.escape(spelled(caption))}</figcaption>" if caption else ""
    return Html(f'<figure class="attention-words {NO_FORMULAS}">{above}<p>{words}</p></figure>')


def words_as_ansi(tokens: Sequence[str], weights: Sequence[float]) -> str:
    """Write words for a terminal, as :func:`words_as_html` does, and in bold from 0.6 of the top.

    Returns:
        A line with ANSI colours.

    Example:
        >>> "good" in words_as_ansi(["good"], [1.0])
        True
    """
    top = _largest(tokens, weights)
    words = []
    for token, weight, (_, shades) in zip(tokens, weights, _looks(weights), strict=True):
        shade = shades[min(int(abs(weight) / top * len(shades)), len(shades) - 1)]
        words.append(f"\033[{shade}m{spelled(token)}\033[0m")
    return " ".join(words)


def _looks(weights: Sequence[float]) -> list[tuple[str, tuple[str, ...]]]:
    for_it = _FOR if min(weights, default=0.0) < 0 else _WEIGHT
    return [_AGAINST if weight < 0 else for_it for weight in weights]


def _largest(tokens: Sequence[str], weights: Sequence[float]) -> float:
    if len(tokens) != len(weights):
        raise ValueError(f"weights: expected {len(tokens)}, one per word, got {len(weights)}")
    return max(map(abs, weights), default=0.0) or 1.0

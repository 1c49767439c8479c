"""All heads of a model as small heatmaps in one HTML element, without a script."""

import html
import zlib
from collections.abc import Sequence
from itertools import groupby

from torch import Tensor

from attention._console import spelled
from attention.plotting.words import NO_FORMULAS, Html

# Maps are side by side, twelve in a row or six on a phone. A radio button covers each map, so that
# Tab reaches the atlas, the arrow keys move through it, and the chosen map opens below.
# The colour follows the page: that of the site, or that of the surrounding text.
STYLE = """<style>
.head-atlas {--ink: var(--color-brand-content, currentColor); margin: 1rem 0}
.head-atlas fieldset {border: 0; display: grid; gap: .25rem; grid-template-columns: repeat(12, 1fr);
  margin: 0 0 .5rem; min-width: 0; padding: 0}
.head-atlas legend {font-size: .85rem; padding: 0}
.head-atlas label {border: 1px solid rgba(128, 128, 128, .5); display: block; font-size: .7rem;
  line-height: 1.3; padding: 1px; position: relative; text-align: center}
.head-atlas label:has(:checked) {box-shadow: 0 0 0 2px currentColor; font-weight: 700}
.head-atlas label:has(:focus-visible) {outline: 3px solid var(--ink); outline-offset: 3px}
.head-atlas input {cursor: pointer; height: 100%; inset: 0; margin: 0; opacity: 0;
  position: absolute; width: 100%}
.head-atlas svg {display: block; fill: none; stroke: var(--ink); width: 100%}
.head-atlas label + div {display: none; flex-wrap: wrap; gap: 1rem; grid-column: 1 / -1; order: 1;
  padding: .5rem 0}
.head-atlas label:has(:checked) + div {display: flex}
.head-atlas label + div svg {flex: 1 1 17rem; max-width: 24rem; min-width: 0}
.head-atlas section {flex: 1 1 13rem; font-size: .85rem}
.head-atlas section p {margin: 0 0 .5rem}
.head-atlas section ul {columns: 9rem; list-style: none; margin: 0; padding: 0}
.head-atlas li {margin: 0}
@media (max-width: 40rem) {.head-atlas fieldset {grid-template-columns: repeat(6, 1fr)}}
</style>"""


def head_atlas(weights: Tensor, tokens: Sequence[str]) -> Html:
    """Draw the weights of all heads in all layers as small maps, of which one at a time is open.

    Each map has one row per query and one column per key. The larger a weight, the more opaque its
    cell, in steps of a tenth. The arrow keys move from head to head, because each map is a radio
    button, whose name says which token, or which neighbour of the query's token, receives most of
    the head's weight. The open map also lists the strongest key of each token.

    Args:
        weights: The weights of one text.
        tokens: The tokens of the text.

    Shape:
        - weights: :math:`(L, h, n, n)`

    Returns:
        One ``<figure>`` with its style, in which all text is escaped.

    Raises:
        ValueError: If the tokens do not fit the weights.

    Example:
        >>> atlas = head_atlas(torch.eye(2).expand(6, 12, 2, 2), ["good", "film"])
        >>> atlas.count('type="radio"')
        72
        >>> "Layer 5, head 11: 100 % of the weight on the same token" in atlas
        True
    """
    n = len(tokens)
    if n == 0 or weights.dim() != 4 or weights.shape[-2:] != (n, n):
        raise ValueError(
            f"weights: expected shape (layers, heads, {n}, {n}), one row and one column per token, "
            f"got {tuple(weights.shape)}"
        )
    weights = weights.detach().float().cpu()
    tokens = [spelled(token) for token in tokens]
    # Two atlases on one page must not share their radio buttons.
    key = f"atlas{zlib.crc32(repr((weights.tolist(), tokens)).encode()):08x}"
    names = [html.escape(token) for token in tokens]
    margin = 0.45 * max(map(len, tokens)) + 0.5  # room for a token's name, in cells
    labels = "".join(
        f'<text x="-3" y="{10 * i + 2.5:g}" text-anchor="end">{name}</text>'
        f'<text transform="translate({10 * i + 7.5:g} -8) rotate(-90)">{name}</text>'
        for i, name in enumerate(names)
    )
    box = f"{-margin:g} {-0.5 - margin:g} {n + margin:g} {n + margin:g}"
    layers = []
    for layer, heads in enumerate(weights):
        cells = []
        for head, table in enumerate(heads):
            one = f"{key}-{layer}-{head}"
            words = html.escape(f"Layer {layer}, head {head}: {_most(table, tokens)}")
            checked = " checked" if layer == head == 0 else ""
            top = zip(
                names, table.argmax(dim=-1).tolist(), table.amax(dim=-1).tolist(), strict=True
            )
            items = "".join(f"<li>{name}: {names[j]} {weight:.2f}</li>" for name, j, weight in top)
            cells.append(
                f'<label><input type="radio" name="{key}" aria-label="{words}"{checked}>'
                f'<svg viewBox="0 -.5 {n} {n}" aria-hidden="true"><g id="{one}">{_map(table)}</g>'
                f'</svg>{head}</label><div><svg viewBox="{box}" aria-hidden="true">'
                f'<use href="#{key}"/><use href="#{one}"/></svg><section><p>{words}.</p>'
                f"<p>Each token and its strongest key:</p><ul>{items}</ul></section></div>"
            )
        layers.append(f"<fieldset><legend>Layer {layer}</legend>{''.join(cells)}</fieldset>")
    shared = (
        '<svg width="0" height="0" style="position:absolute;width:0" aria-hidden="true"><defs>'
        f'<g id="{key}"><path d="M0 -.5h{n}v{n}h-{n}z" stroke-width=".03"/><g stroke="none" '
        f'fill="currentColor" font-size="7" transform="scale(.1)">{labels}</g></g>'
        "</defs></svg>"
    )
    figure = f'<figure class="head-atlas {NO_FORMULAS}">{shared}{"".join(layers)}</figure>'
    return Html(STYLE + figure)


def _map(table: Tensor) -> str:
    """Draw a table of weights: one path per tenth of opacity, one stroke per run of cells."""
    strokes: dict[int, list[str]] = {}
    for y, row in enumerate((10 * table).round().int().tolist()):
        x = 0
        for tenths, cells in groupby(row):
            width = len(list(cells))
            strokes.setdefault(tenths, []).append(f"M{x} {y}h{width}")
            x += width
    return "".join(
        f'<path d="{"".join(parts)}" opacity="{tenths / 10:g}"/>'
        for tenths, parts in sorted(strokes.items())
        if tenths > 0
    )


def _most(table: Tensor, tokens: Sequence[str]) -> str:
    """Tell where most of a head's weight is: on one token, or at one distance from the query."""
    received, key = table.mean(dim=0).max(dim=0)
    at = int(key)
    is_repeated = list(tokens).count(tokens[at]) > 1
    shares = [(received.item(), f"“{tokens[at]}”" + (f" at position {at}" if is_repeated else ""))]
    for distance, target in ((-1, "previous"), (0, "same"), (1, "next")):
        if len(tokens) > abs(distance):
            shares += [(table.diagonal(distance).mean().item(), f"the {target} token")]
    share, place = max(shares, key=lambda each: each[0])
    return f"{100 * share:.0f} % of the weight on {place}"

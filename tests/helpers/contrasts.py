"""How much two colours differ for an eye."""


def contrast(*colours):
    """Compare two colours, each of three numbers from 0 to 255, as WCAG 2.2 does."""
    of_both = []
    for colour in colours:
        parts = [part / 255 for part in colour]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        of_both.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(of_both) + 0.05) / (min(of_both) + 0.05)

"""How much two colours differ for an eye."""

import math


def linear(colour):
    """Undo the curve that sRGB gives three numbers from 0 to 255."""
    parts = [part / 255 for part in colour]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(*colours):
    """Compare two colours, each of three numbers from 0 to 255, as WCAG 2.2 does."""
    of_both = [luminance(colour) for colour in colours]
    return (max(of_both) + 0.05) / (min(of_both) + 0.05)


# What a red-, a green- or a blue-blind eye sees (Machado and others, 2009), and Oklab, in which
# distances are about as large as they look (Ottosson, 2020). All of linear red, green and blue.
EYES = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9309, 0.1476], [0.0047, 0.6914, 0.3039]],
]
LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
LAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]


def times(matrix, vector):
    x, y, z = vector
    return [a * x + b * y + c * z for a, b, c in matrix]


def least_distance(*colours):
    """Compare two colours as the eye does that tells them apart least."""
    seen = [
        [
            times(LAB, map(math.cbrt, times(LMS, [max(0, x) for x in times(eye, linear(each))])))
            for each in colours
        ]
        for eye in EYES
    ]
    return min(math.dist(*pair) for pair in seen)

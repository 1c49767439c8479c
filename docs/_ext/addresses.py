"""Lead each page's old address to its new one, so that links from other sites keep working.

The lessons once lay side by side in ``gallery/``, each part had a page of its own beside the page
of all lessons, and two pages had other names.
"""

# The old name in gallery/, and where in gallery/ the lesson is now.
MOVED = {
    "plot_1_qkv_derivation": "core/plot_1_qkv_derivation",
    "plot_1c_two_modules_one_function": "core/plot_2_attention_layer",
    "plot_2_scaling_variance": "core/plot_3_scaling_variance",
    "plot_2b_masks_and_heads": "core/plot_4_masks",
    "plot_2c_positions": "core/plot_6_positions",
    "plot_3_low_rank_qk": "deeper/plot_1_low_rank_qk",
    "plot_3a_gauge_and_biases": "deeper/plot_2_gauge_and_biases",
    "plot_3b_values_fold": "deeper/plot_3_values_fold",
    "plot_3c_rank_on_reviews": "deeper/plot_4_rank_on_reviews",
    "plot_3d_cost_of_the_brackets": "deeper/plot_5_cost_of_the_product",
    "plot_4_sentiment_training": "core/plot_8_sentiment_training",
    "plot_4a_what_went_wrong_in_the_lab": "cases/plot_1_ten_pitfalls",
    "plot_5_reading_attention": "core/plot_9_reading_attention",
}


# Pages that are not lessons: the old name, and the address as seen from there.
RENAMED = {
    "api": "api/index.html",
    "exercises_low_rank": "exercises/low_rank.html",
    "lab": "playground.html",
    "promises": "reliability.html",
    "gallery/plot_1b_same_steps_other_numbers": "../exercises/sentence.html",
    "gallery/core/plot_1b_same_steps_other_numbers": "../../exercises/sentence.html",
    "gallery/core/index": "../index.html#core-lessons",
    "gallery/deeper/index": "../index.html#going-deeper",
    "gallery/cases/index": "../index.html#case-studies",
}


def redirects() -> dict[str, str]:
    """Map each old page to its new address, relative so that it works from a folder, too."""
    return {f"gallery/{old}": f"{new}.html" for old, new in MOVED.items()} | RENAMED

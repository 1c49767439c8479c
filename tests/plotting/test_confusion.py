"""The confusion matrix: what its cells and its words say."""

from matplotlib.figure import Figure

from attention.plotting import confusion_heatmap


def cells(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_rows_are_labels_and_shares_are_of_them():
    figure = confusion_heatmap([[3, 1], [0, 0]], ["tea", "$5"], Figure())
    assert cells(figure) == ["0.75", "0.25", "0.00", "0.00"]
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["tea", "$5"]
    assert figure.axes[0].get_ylabel() == "label"
    assert figure.get_label() == "Confusion matrix: of tea 75%, of $5 0% are answered rightly."


def test_of_many_labels_the_most_frequent_are_drawn_in_their_order():
    counts = [[0] * 25 for _ in range(25)]
    for i in range(25):
        counts[i][i] = 1 if i in (3, 7, 9, 11, 24) else 5
    figure = confusion_heatmap(counts, [f"l{i}" for i in range(25)], Figure())
    names = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert names == [f"l{i}" for i in range(25) if i not in (3, 7, 9, 11, 24)]

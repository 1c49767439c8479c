import matplotlib as mpl
import numpy as np
import saved_pictures
from matplotlib.figure import Figure
from PIL import Image


def test_two_builds_write_the_same_lines_with_letters_as_shapes_whatever_the_page_has_set(tmp_path):
    def saved() -> str:
        figure = Figure()
        figure.add_subplot().imshow([[0, 1]])
        saved_pictures.save_as_svg(figure, tmp_path / "a.png")
        _, _, drawn = (tmp_path / "a.svg").read_text(encoding="utf-8").partition("</metadata>")
        return drawn  # above is a date

    first = saved()
    with mpl.rc_context({"svg.fonttype": "none"}):
        assert saved() == first
    assert "<text" not in first


def test_what_is_saved_after_the_vector_file_is_laid_out_anew(tmp_path):
    figure = Figure(layout="constrained")
    layout = figure.get_layout_engine()
    saved_pictures.save_as_svg(figure, tmp_path / "a.png")
    assert figure.get_layout_engine() is layout


def test_a_kernel_is_told_the_same():
    class Config:
        """As the kernel's own: a section is there once it is named."""

        def __getattr__(self, name: str) -> "Config":
            setattr(self, name, Config())
            return getattr(self, name)

    told = Config()
    exec(saved_pictures.KERNEL, {"c": told})
    assert told.InlineBackend.figure_formats == {"png", "svg"}
    assert told.InlineBackend.rc == saved_pictures.SETTINGS


def test_a_lightened_picture_looks_as_before(tmp_path):
    figure = Figure(dpi=100)
    figure.add_subplot(211).imshow([[i + j for j in range(30)] for i in range(20)])
    figure.add_subplot(212).plot([1, 3, 2], label="one")
    path = tmp_path / "a.png"
    figure.savefig(path)
    before, weight = np.asarray(Image.open(path).convert("RGB")).astype(int), path.stat().st_size
    saved_pictures.lighten(path)
    after = np.asarray(Image.open(path).convert("RGB")).astype(int)
    assert after.shape == before.shape
    assert abs(after - before).mean() < 0.1
    assert (abs(after - before).max(axis=2) > 32).mean() < 1e-3
    assert path.stat().st_size < 0.5 * weight

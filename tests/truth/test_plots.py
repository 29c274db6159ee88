"""The figures show what the tables hold."""

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.tables import named, plain
from overread.truth import MarkedPicture, marks_figure, merge_marks, reader_statistics, readers_figure

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def study():
    rows = [
        ("i", "A", "1", 50.0, 60.0, 8.0, 5.0, 30.0),
        ("i", "B", "2", 50.5, 60.0, 8.0, 5.0, 30.0),
        ("i", "A", "3", 90.0, 60.0, 8.0, 5.0, 30.0),
        ("j", "B", "4", 20.0, 20.0, 4.0, 4.0, 0.0),
    ]
    readings = [(image, reader) for image in "ij" for reader in "ABC"]
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(readings, columns=["image_id", "reader_id"])


def drawn_ellipses(ax):
    return sorted((*patch.center, patch.width, patch.height, patch.angle) for patch in ax.patches)


def test_marks_stand_beside_objects(study):
    marks, readings = study
    truth = merge_marks(marks, readings)
    left, right = marks_figure(marks, truth, ["i"]).axes
    assert drawn_ellipses(left) == sorted(
        (m.x_mm, m.y_mm, 2 * m.semi_major_mm, 2 * m.semi_minor_mm, m.angle_deg)
        for m in marks[marks["image_id"] == "i"].itertuples()
    )
    assert len(left.patches) == 3
    assert len(right.patches) == 2
    assert len({patch.get_edgecolor() for patch in left.patches}) == 2
    assert "2/3,  p 0.67" in right.texts[-1].get_text()
    bottom, top = right.get_ylim()
    assert bottom > top


def test_an_image_gets_a_column_of_its_own(study):
    marks, readings = study
    truth = merge_marks(marks, readings)
    picture = MarkedPicture(np.zeros((200, 100)), 0.5, 0.25)
    axes = marks_figure(marks, truth, ["i", "j"], pictures={"i": picture}).axes
    assert len(axes) == 6
    assert [len(ax.images) for ax in axes] == [1, 1, 1, 0, 0, 0]
    assert axes[0].images[0].get_extent() == [0.0, 50.0, 50.0, 0.0]


def test_a_view_shows_a_region_and_its_piece_of_the_image(study):
    marks, readings = study
    truth = merge_marks(marks, readings)
    picture = MarkedPicture(np.zeros((40, 60)), 0.5, 0.25, left=5.0, top=3.0)
    axes = marks_figure(marks, truth, ["i"], pictures={"i": picture}, views={"i": (6.0, 4.0, 20.0)}).axes
    for ax in axes:
        assert ax.images[0].get_extent() == [5.0, 35.0, 13.0, 3.0]
        assert (ax.get_xlim(), ax.get_ylim()) == ((6.0, 26.0), (24.0, 4.0))


def test_without_a_view_all_marks_are_in_sight(study):
    marks, readings = study
    own = marks[marks["image_id"] == "i"]
    ax = marks_figure(marks, merge_marks(marks, readings), ["i"]).axes[0]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert right - left == pytest.approx(bottom - top)
    for name, low, high in (("x_mm", left, right), ("y_mm", top, bottom)):
        assert (own[name] - own["semi_major_mm"]).min() >= low + 15 - 1e-9
        assert (own[name] + own["semi_major_mm"]).max() <= high - 15 + 1e-9


def test_no_number_leaves_its_panel(study):
    marks, readings = study
    truth = merge_marks(marks, readings)
    figure = marks_figure(marks, truth, ["i"], views={"i": (40.0, 54.0, 60.0)})
    figure.canvas.draw()
    panel = figure.axes[-1]
    numbers = [text for text in panel.texts if text.get_text() in ("1", "2")]
    assert len(numbers) == 2
    for number in numbers:
        box = number.get_window_extent()
        assert panel.bbox.containsx(box.x0)
        assert panel.bbox.containsx(box.x1)
        assert panel.bbox.containsy(box.y0)
        assert panel.bbox.containsy(box.y1)


def test_no_reader_has_the_colour_of_objects(study):
    marks, readings = study
    many = pd.concat([marks.head(1).assign(reader_id=f"r{n:02d}", mark_id=f"m{n}") for n in range(20)])
    readings = many[["image_id", "reader_id"]]
    left, right = marks_figure(many, merge_marks(many, readings), ["i"]).axes
    readers = {patch.get_edgecolor() for patch in left.patches}
    objects = {patch.get_edgecolor() for patch in right.patches}
    assert len(objects) == 1
    assert not readers & objects
    styles = {(patch.get_edgecolor(), patch.get_linestyle()) for patch in left.patches}
    assert len(styles) == 20


def test_images_without_marks_are_refused(study):
    marks, readings = study
    truth = merge_marks(marks, readings)
    with pytest.raises(InvalidInputError, match="no marks to draw in image 'k'"):
        marks_figure(marks, truth, ["i", "k"])
    with pytest.raises(InvalidInputError, match="no image"):
        marks_figure(marks, truth, [])


def test_readers_figure_shows_the_rates(study):
    statistics = reader_statistics(*study)
    histogram, sensitivity, false_positives = readers_figure(statistics).axes
    assert [bar.get_height() for bar in histogram.patches] == [2]
    assert [bar.get_height() for bar in sensitivity.patches] == pytest.approx(
        statistics.readers["sensitivity"].tolist()
    )
    assert [bar.get_height() for bar in false_positives.patches] == pytest.approx(
        statistics.readers["fp_per_image"].tolist()
    )
    assert false_positives.lines[0].get_ydata() == pytest.approx(
        statistics.readers["loo_fp_per_image"].tolist()
    )


def test_many_objects_are_counted_in_place_of_numbers():
    """A picture with 30 objects on a grid, marked by two readers each."""
    places = pd.DataFrame(
        {"x_mm": np.tile(np.arange(6.0), 5) * 20, "y_mm": np.repeat(np.arange(5.0), 6) * 20}
    )
    marks = pd.concat(
        places.assign(
            image_id="i", reader_id=reader, mark_id=[f"{reader}{number}" for number in range(30)],
            semi_major_mm=4.0, semi_minor_mm=4.0, angle_deg=0.0,
        )
        for reader in ("a", "b")
    ).reset_index(drop=True)  # fmt: skip
    readings = pd.DataFrame({"image_id": "i", "reader_id": ["a", "b"]})
    truth = merge_marks(marks, readings)
    figure = marks_figure(*(named(plain(one)[0], "px") for one in (marks, truth)), ["i"])
    drawn, objects = figure.axes
    assert len(drawn_ellipses(objects)) == 30
    assert [text.get_text() for text in objects.texts] == ["30 objects, 30 consensus"]
    assert drawn.get_ylabel() == "i\ny (px)"

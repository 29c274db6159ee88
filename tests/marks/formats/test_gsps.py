"""Presentation states: read back as they were written, and others' states."""

import math
from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread

from dicom_marks import COLUMNS
from overread.errors import FormatError
from overread.marks import MarkSet, Spacings, combine, read_marks
from overread.marks.formats import dicom_sr_writer, gsps, gsps_writer


def write(mark_set: MarkSet, folder: Path) -> list[Path]:
    return gsps_writer.write(mark_set, folder / "states", images_folder=folder)


def edited(path: Path, change) -> Path:
    state = dcmread(path)
    change(state, state.GraphicAnnotationSequence[0])
    target = path.parent / "edited.dcm"
    state.save_as(target)
    return target


def test_there_and_back_to_float32(mark_set, tmp_path):
    spacings = Spacings.of(images=mark_set.images)
    found = combine([gsps.read(path, spacings=spacings) for path in write(mark_set, tmp_path)])
    exact = ["image_id", "reader_id", "mark_id", "label"]
    assert found.marks[exact].to_numpy().tolist() == mark_set.marks[exact].to_numpy().tolist()
    np.testing.assert_array_equal(found.marks["confidence"], mark_set.marks["confidence"])
    # 2000 px in float32 have steps of 1.2e-4 px, that is 2.4e-5 mm.
    np.testing.assert_allclose(found.marks[COLUMNS[:4]], mark_set.marks[COLUMNS[:4]], atol=5e-5)
    np.testing.assert_allclose(found.marks["angle_deg"], mark_set.marks["angle_deg"], atol=2e-3)
    assert found.readings.to_numpy().tolist() == mark_set.readings.to_numpy().tolist()


def test_marks_that_float32_holds_come_back_exactly(mark_set, tmp_path):
    # Whole and half pixels have no rounding: what is left is that of mm to px and back.
    marks = mark_set.marks[:1].assign(
        x_mm=30.05, y_mm=30.1, semi_major_mm=4.0, semi_minor_mm=2.0, angle_deg=0.0
    )
    path = write(MarkSet(marks, mark_set.readings[:1], mark_set.images), tmp_path)[0]
    found = read_marks(path, images=mark_set.images)
    np.testing.assert_allclose(found.marks[COLUMNS], marks[COLUMNS], atol=1e-9)


def test_the_format_is_known_by_the_content(mark_set, tmp_path):
    state = write(mark_set, tmp_path)[0]
    report = dicom_sr_writer.write(mark_set, tmp_path / "reports", images_folder=tmp_path)[0]
    for path in (state, report):
        found = read_marks(path, images=mark_set.images)
        assert set(found.marks["reader_id"]) == {"R1"}


def test_states_of_others_are_read_by_their_creator(mark_set, tmp_path):
    def foreign(state, annotation):
        state.ContentLabel, state.ContentDescription = "MINE", "something"
        del state.GraphicGroupSequence
        for drawn in annotation.GraphicObjectSequence:
            del drawn.TrackingID, drawn.TrackingUID, drawn.GraphicGroupID

    found = gsps.read(edited(write(mark_set, tmp_path)[0], foreign), spacings=Spacings.of((0.1, 0.2)))
    assert found.marks["reader_id"].unique().tolist() == ["R1^"]
    assert found.marks["mark_id"].tolist() == ["graphic object 1", "graphic object 2"]
    assert "confidence" not in found.marks


def display_units(_state, annotation):
    annotation.GraphicObjectSequence[0].GraphicAnnotationUnits = "DISPLAY"


def a_point(_state, annotation):
    drawn = annotation.GraphicObjectSequence[0]
    drawn.GraphicType, drawn.GraphicData = "POINT", [1.0, 2.0]


def no_numbers(_state, annotation):
    annotation.GraphicObjectSequence[0].GraphicData = [math.nan] * 8


def nobody(state, _annotation):
    state.ContentDescription = ""


def nothing_referred_to(_state, annotation):
    annotation.ReferencedImageSequence = []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (display_units, "lies on the display"),
        (a_point, "no ellipse"),
        (no_numbers, "finite"),
        (nobody, "no creator"),
        (nothing_referred_to, "0 images"),
    ],
)
def test_states_that_say_nothing_usable(mark_set, tmp_path, change, words):
    path = edited(write(mark_set, tmp_path)[0], change)
    with pytest.raises(FormatError, match=words):
        gsps.read(path, spacings=Spacings.of(images=mark_set.images))


def test_other_files_and_truncations_are_refused(mark_set, tmp_path):
    with pytest.raises(FormatError, match="no grayscale presentation state"):
        gsps.read(tmp_path / "a.dcm")
    raw = write(mark_set, tmp_path)[0].read_bytes()
    cut = tmp_path / "cut.dcm"
    for length in range(0, len(raw), 211):
        cut.write_bytes(raw[:length])
        with pytest.raises(FormatError, match=r"cut\.dcm"):
            gsps.read(cut, spacings=Spacings.of(images=mark_set.images))


def test_words_that_are_not_ours_are_no_label(mark_set, tmp_path):
    def other_words(state, _annotation):
        state.GraphicGroupSequence[0].GraphicGroupDescription = "{nobody wrote this"

    found = gsps.read(
        edited(write(mark_set, tmp_path)[0], other_words), spacings=Spacings.of(images=mark_set.images)
    )
    assert found.marks["label"].tolist() == ["", "my own thing"]
    assert "confidence" not in found.marks

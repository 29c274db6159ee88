"""Presentation states: read back as they were written, and others' states.

Presentation states that are written: valid, and what viewers show.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset

from dicom_marks import COLUMNS, complaints, make_image, make_mark_set
from overread.errors import FormatError, TableError
from overread.marks import MarkSet, Spacings, read_marks
from overread.marks.formats import gsps
from overread.marks.formats._dicom_writers import write_gsps, write_sr


def write(mark_set: MarkSet, folder: Path, **options) -> list[Path]:
    return write_gsps(mark_set, folder / "states", images_folder=folder, **options)


def edited(path: Path, change) -> Path:
    state = dcmread(path)
    change(state, state.GraphicAnnotationSequence[0])
    target = path.parent / "edited.dcm"
    state.save_as(target)
    return target


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
    report = write_sr(mark_set, tmp_path / "reports", images_folder=tmp_path)[0]
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
        (display_units, "is drawn on the display"),
        (a_point, "not an ellipse"),
        (no_numbers, "finite"),
        (nobody, "no creator"),
        (nothing_referred_to, "0 images"),
    ],
)
def test_states_that_say_nothing_usable(mark_set, tmp_path, change, words):
    path = edited(write(mark_set, tmp_path)[0], change)
    with pytest.raises(FormatError, match=words):
        gsps.read(path, spacings=Spacings.of(images=mark_set.images))


def test_other_files_are_refused(tmp_path, mark_set):
    with pytest.raises(FormatError, match="not a grayscale presentation state"):
        gsps.read(tmp_path / "a.dcm")


def test_words_that_are_not_ours_are_no_label(mark_set, tmp_path):
    def other_words(state, _annotation):
        state.GraphicGroupSequence[0].GraphicGroupDescription = "{nobody wrote this"

    found = gsps.read(
        edited(write(mark_set, tmp_path)[0], other_words), spacings=Spacings.of(images=mark_set.images)
    )
    assert found.marks["label"].tolist() == ["", "my own thing"]
    assert "confidence" not in found.marks


def test_the_validator_finds_no_error_and_no_warning(mark_set, tmp_path):
    paths = write(mark_set, tmp_path)
    assert len(paths) == 4
    assert [complaints(path) for path in paths] == [[]] * 4


@pytest.mark.parametrize(
    "changes",
    [
        {"PhotometricInterpretation": "MONOCHROME1", "WindowCenter": 2000, "WindowWidth": 4000},
        {"RescaleSlope": 1, "RescaleIntercept": 0, "RescaleType": "US"},
        {"WindowCenter": [1, 2], "WindowWidth": [3, 4], "WindowCenterWidthExplanation": ["A", "B"]},
    ],
)
def test_grey_scales_of_images_are_kept_and_valid(mark_set, tmp_path, changes):
    make_image(tmp_path / "a.dcm", "1.2.3.4", **changes)
    path = write(mark_set, tmp_path)[0]
    assert complaints(path) == []
    state = dcmread(path)
    inverse = changes.get("PhotometricInterpretation") == "MONOCHROME1"
    assert state.PresentationLUTShape == ("INVERSE" if inverse else "IDENTITY")
    assert ("RescaleSlope" in state) == ("RescaleSlope" in changes)
    if "WindowCenter" in changes:
        assert state.SoftcopyVOILUTSequence[0].WindowCenter == changes["WindowCenter"]


def test_texts_say_whose_marks_rank_label_and_probability(mark_set, tmp_path):
    first, second, unmarked, _ = (dcmread(path) for path in write(mark_set, tmp_path))

    def texts(state):
        return [item.UnformattedTextValue for item in state.GraphicAnnotationSequence[0].TextObjectSequence]

    assert texts(first) == ["R1: 2 marks", "#1 Nodule 30 %", "#2 my own thing"]
    assert texts(second) == ["R1: 1 mark", "#1 33 %"]
    assert texts(unmarked) == ["=1+1 é: no marks"]
    assert "GraphicObjectSequence" not in unmarked.GraphicAnnotationSequence[0]


def test_rank_follows_confidence_and_order_the_table(mark_set, tmp_path):
    marks = mark_set.marks[:2].assign(confidence=[0.2, 0.9])
    state = dcmread(write(MarkSet(marks, mark_set.readings[:1], mark_set.images), tmp_path)[0])
    annotation = state.GraphicAnnotationSequence[0]
    assert [item.TrackingID for item in annotation.GraphicObjectSequence] == ["1.10", "1.1"]
    assert [item.GraphicGroupID for item in annotation.GraphicObjectSequence] == [2, 1]
    assert [item.GraphicGroupID for item in state.GraphicGroupSequence] == [1, 2]


def test_the_text_stands_at_the_top_right_of_the_ellipse(mark_set, tmp_path):
    marks = mark_set.marks[:1].assign(angle_deg=0.0)
    state = dcmread(write(MarkSet(marks, mark_set.readings[:1], mark_set.images), tmp_path)[0])
    text = state.GraphicAnnotationSequence[0].TextObjectSequence[1]
    # 30 mm and 3 mm at 0.1 mm; 30 mm and 2 mm at 0.2 mm.
    assert text.AnchorPoint == pytest.approx([330, 140], abs=1e-4)


def test_images_that_cannot_bear_a_state(mark_set, tmp_path):
    make_image(tmp_path / "a.dcm", "1.2.3.4", SamplesPerPixel=3, PhotometricInterpretation="RGB")
    with pytest.raises(FormatError, match="in colour"):
        write(mark_set, tmp_path)
    readings = mark_set.readings.assign(image_id=["z"] * 4)
    with pytest.raises(TableError, match="not in the images table"):
        write(MarkSet(mark_set.marks[:0], readings, mark_set.images), tmp_path)
    long = mark_set.readings[:1].assign(image_id="b", reader_id="r" * 65)
    with pytest.raises(TableError, match=r"reader id .* would be changed by DICOM"):
        write(MarkSet(mark_set.marks[:0], long, mark_set.images), tmp_path)


def test_marks_without_confidence(mark_set, tmp_path):
    marks = mark_set.marks.drop(columns=["confidence", "label"])
    state = dcmread(write(MarkSet(marks, mark_set.readings, mark_set.images), tmp_path)[0])
    texts = [item.UnformattedTextValue for item in state.GraphicAnnotationSequence[0].TextObjectSequence]
    assert texts[1:] == ["#1", "#2"]
    assert math.isclose(state.GraphicAnnotationSequence[0].GraphicObjectSequence[0].GraphicDimensions, 2)


CANARY = "MUSTERMANN"


def table_item(**more) -> Dataset:
    """A lookup table with free text of every kind in it."""
    item = Dataset()
    item.LUTDescriptor, item.LUTData = [256, 0, 16], bytes(510) + b"\xff\xff"
    item.LUTExplanation = CANARY
    item.add_new((0x0009, 0x0010), "LO", CANARY)
    item.PatientComments = CANARY
    for name, value in more.items():
        setattr(item, name, value)
    return item


GREY_PIXELS = {"BitsAllocated": 16, "BitsStored": 16, "PixelRepresentation": 0, "SamplesPerPixel": 1}
WAYS_TO_GREY = {
    "rescale": {"RescaleIntercept": 0, "RescaleSlope": 1, "RescaleType": CANARY},
    "modality table": {"ModalityLUTSequence": [table_item(ModalityLUTType=CANARY)]},
    "window": {
        "WindowCenter": [1, 2],
        "WindowWidth": [3, 4],
        "WindowCenterWidthExplanation": [CANARY, CANARY],
    },
    "window function": {"WindowCenter": 1, "WindowWidth": 3, "VOILUTFunction": CANARY},
    "table": {"VOILUTSequence": [table_item()]},
    "visit": {
        "StudyDescription": CANARY,
        "IssuerOfPatientID": CANARY,
        "PatientName": CANARY,
        "StudyID": CANARY,
    },
}


@pytest.mark.parametrize("way", WAYS_TO_GREY)
@pytest.mark.parametrize("writer", [write_gsps, write_sr])
def test_no_text_of_the_image_is_in_an_anonymous_document(tmp_path, way, writer):
    mark_set = make_mark_set(tmp_path)
    for name, uid in (("a", "1.2.3.4"), ("b", "1.2.3.5")):
        changes = GREY_PIXELS | WAYS_TO_GREY[way] | {"PhotometricInterpretation": "MONOCHROME2"}
        make_image(tmp_path / f"{name}.dcm", uid, **changes)
    found = {}
    for anonymous in (False, True):
        out = tmp_path / str(anonymous)
        files = writer(mark_set, out, images_folder=tmp_path, anonymous=anonymous)
        found[anonymous] = b"".join(file.read_bytes() for file in files)
        assert not anonymous or [complaint for file in files for complaint in complaints(file)] == []
    assert CANARY.encode() not in found[True]
    if writer is write_gsps and way not in ("modality table", "window function"):  # these are never repeated
        assert CANARY.encode() in found[False], "the test would not notice"

"""Detections as DICOM documents."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydicom import dcmread

from dicom_marks import complaints
from overread.errors import UsageError
from overread.images import read_image
from overread.marks import read_marks
from overread.study import (
    Documents,
    ImageReport,
    Request,
    detect_image,
    refuse_other_than_dicom,
    write_documents,
)
from stand_in_detector import StandInDetector, write_images

SR, PR = "1.2.840.10008.5.1.4.1.1.88.33", "1.2.840.10008.5.1.4.1.1.11.1"


def test_both_kinds_are_valid_and_say_the_same(tmp_path):
    path = write_images(tmp_path, 1)[0]
    report = detect_image(Request(StandInDetector(), 1.0, documents=True), path, None)[2]
    assert report is not None
    written = write_documents([report], "Overread Stand-in", tmp_path / "out", Documents(sr=True, gsps=True))
    assert [dcmread(document).SOPClassUID for document in written] == [SR, PR]
    assert [complaints(document) for document in written] == [[], []]
    first, second = (read_marks(document, mm_per_px=0.7) for document in written)
    pd.testing.assert_frame_equal(first.marks, second.marks)
    assert first.marks["reader_id"].tolist() == ["Overread Stand-in"]
    assert first.marks["confidence"].tolist() == [0.75]
    image = dcmread(path)
    for document in written:
        header = dcmread(document)
        for name in ("StudyInstanceUID", "PatientID", "StudyID", "AccessionNumber"):
            assert header[name].value == image[name].value


@pytest.mark.parametrize(("sr", "gsps", "kinds"), [(True, False, [SR]), (False, True, [PR])])
def test_only_what_is_asked_for(tmp_path, sr, gsps, kinds):
    path = write_images(tmp_path, 1)[0]
    report = detect_image(Request(StandInDetector(), 0.1, documents=True), path, None)[2]
    assert report is not None
    assert report.marks.empty
    written = write_documents([report], "A", tmp_path / "out", Documents(sr=sr, gsps=gsps))
    assert [dcmread(document).SOPClassUID for document in written] == kinds


def test_circles_stay_within_the_image(tmp_path):
    path = write_images(tmp_path, 1)[0]
    found = pd.DataFrame(
        {"candidate_id": ["1", "2"], "x": [-0.2, 30.0], "y": [20.0, 45.0], "radius": [5.0, 2.0]}
    ).assign(probability=0.5, rank=[1, 2])
    report = ImageReport.of(path, read_image(path), found)
    # 64 pixels of 0.7 mm are 44.8 mm.
    assert report.marks["x_mm"].tolist() == [1.0, 30.0]
    assert report.marks["y_mm"].tolist() == [20.0, pytest.approx(43.8)]
    assert report.marks["semi_major_mm"].tolist() == pytest.approx([0.999, 0.999])
    write_documents([report], "A", tmp_path / "out", Documents(sr=True, gsps=True))


def test_pictures_have_no_documents():
    refuse_other_than_dicom([Path("a.dcm"), Path("1.2.3")])
    with pytest.raises(UsageError, match="--sr and --gsps need DICOM"):
        refuse_other_than_dicom([Path("a.dcm"), Path("b.png")])


def test_a_rank_is_that_of_the_table_also_where_a_place_between_was_left_out(tmp_path):
    """The second strongest lies on the first and is not shown: ranks 1 and 3 in the report, state and table."""
    path = write_images(tmp_path, 1)[0]
    found = pd.DataFrame(
        {"candidate_id": ["7", "2"], "x": [12.0, 30.0], "y": 20.0, "radius": 4.0, "rank": [1, 3]}
    )
    for probability, names in ((np.nan, ["rank 1, 7", "rank 3, 2"]), (0.5, ["7", "2"])):
        report = ImageReport.of(path, read_image(path), found.assign(probability=probability))
        out = tmp_path / str(probability)
        structured, state = write_documents([report], "A", out, Documents(sr=True, gsps=True))
        assert read_marks(structured, mm_per_px=0.7).marks["mark_id"].tolist() == names
        graphics = dcmread(state).GraphicAnnotationSequence[0].TextObjectSequence
        texts = [one.UnformattedTextValue for one in graphics[1:]]
        assert [text.split()[0] for text in texts] == ["#1", "#3"]
        groups = dcmread(state).GraphicGroupSequence
        assert [group.GraphicGroupID for group in groups] == [1, 3]

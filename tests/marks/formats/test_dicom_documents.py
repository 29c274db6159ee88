"""Identity, series and headers of DICOM documents, whatever images they refer to."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset

from dicom_marks import complaints, make_image
from overread.errors import FormatError, InvalidInputError, TableError
from overread.marks import MarkSet, Spacings
from overread.marks.formats import _dicom_documents as dicom_documents
from overread.marks.formats import dicom_sr, gsps
from overread.marks.formats._dicom_writers import write_gsps, write_sr

WRITERS = {"sr": write_sr, "gsps": write_gsps}
TYPE_2 = [*dicom_documents.TYPE_2]


@pytest.fixture(params=sorted(WRITERS))
def write(request, tmp_path):
    def documents(mark_set: MarkSet, name: str = "out", **options) -> list[Dataset]:
        paths = WRITERS[request.param](mark_set, tmp_path / name, images_folder=tmp_path, **options)
        return [dcmread(path) for path in paths]

    return documents


@pytest.mark.parametrize("missing", [["StudyID"], [*TYPE_2, "InstanceNumber", "Modality"]])
def test_missing_type_2_attributes_are_empty(mark_set, tmp_path, write, missing):
    make_image(tmp_path / "a.dcm", "1.2.3.4", without=missing)
    document = write(mark_set)[0]
    assert [str(document[name].value or "") for name in missing if name in TYPE_2] == [""] * (
        len([name for name in missing if name in TYPE_2])
    )
    path = tmp_path / "out" / f"{document.SOPInstanceUID}.dcm"
    # The standard wants a PatientID of one kind or another; that the image has none is not ours to mend.
    assert [line for line in complaints(path) if "Error" in line] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PatientSex", "male"),
        ("PatientBirthDate", "1970"),
        ("StudyTime", "noon"),
        ("StudyDate", "2020.01.01"),
    ],
)
@pytest.mark.filterwarnings("ignore:Invalid value")
def test_unreadable_type_2_attributes_are_empty(mark_set, tmp_path, write, name, value):
    make_image(tmp_path / "a.dcm", "1.2.3.4", **{name: value})
    assert str(write(mark_set)[0][name].value or "") == ""


@pytest.mark.parametrize("name", ["StudyInstanceUID", "SeriesInstanceUID", "Rows"])
def test_an_image_without_identity_is_refused(mark_set, tmp_path, write, name):
    make_image(tmp_path / "a.dcm", "1.2.3.4", without=[name])
    with pytest.raises(TableError, match=rf"a\.dcm: is not a DICOM image: {name} is missing"):
        write(mark_set)


def test_a_header_that_bears_no_document_gives_a_typed_error():
    header = Dataset()
    header.SOPInstanceUID = "1.2.3"
    with pytest.raises(FormatError, match=r"image 1\.2\.3"), dicom_documents.refuse_unusable_headers(header):
        raise AttributeError("no such thing")
    with pytest.raises(InvalidInputError, match="mine"), dicom_documents.refuse_unusable_headers(header):
        raise InvalidInputError("mine")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("reader_id", "x ", "reader id 'x ' would be changed by DICOM"),
        ("reader_id", "a\0b", "reader id .* would be changed by DICOM"),
        ("mark_id", "x" * 10_000, "mark id .* would be changed by DICOM"),
        ("label", "y" * 65, "64 characters"),
        ("x_mm", 149.0, "beyond the image"),
        ("y_mm", 1.0, "beyond the image"),
    ],
)
def test_what_dicom_cannot_hold_is_refused(mark_set, write, column, value, words):
    marks, readings = mark_set.marks.copy(), mark_set.readings.copy()
    marks.loc[0, column] = value
    if column == "reader_id":
        readings.loc[0, column] = value
    with pytest.raises(TableError, match=words):
        write(MarkSet(marks, readings, mark_set.images))


def test_names_in_latin_1_come_as_they_are(mark_set, tmp_path, write):
    make_image(tmp_path / "a.dcm", "1.2.3.4", SpecificCharacterSet="ISO_IR 100", PatientName="Müller^Zoë")
    document = write(mark_set)[0]
    assert str(document.PatientName) == "Müller^Zoë"
    assert document.SpecificCharacterSet == "ISO_IR 192"


CHANGES = {
    "a mark": lambda s: MarkSet(s.marks.assign(x_mm=s.marks["x_mm"] + 0.5), s.readings, s.images),
    "a label": lambda s: MarkSet(s.marks.assign(label="Mass"), s.readings, s.images),
    "a confidence": lambda s: MarkSet(s.marks.assign(confidence=0.5), s.readings, s.images),
    "an id": lambda s: MarkSet(s.marks.assign(mark_id=["p", "q", "r"]), s.readings, s.images),
    "a spacing": lambda s: MarkSet(s.marks, s.readings, s.images.assign(mm_per_px_x=0.2)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_content_is_another_instance(mark_set, write, change):
    before, after = write(mark_set)[0], write(change(mark_set))[0]
    assert before.SOPInstanceUID != after.SOPInstanceUID
    assert before.SeriesInstanceUID == after.SeriesInstanceUID


def test_geometry_and_images_without_marks_are_content(mark_set, tmp_path):
    def uids(marks, **options):
        paths = write_sr(marks, tmp_path / "out", images_folder=tmp_path, **options)
        return {path.stem for path in paths}

    ellipse, polyline = uids(mark_set), uids(mark_set, geometry="polyline")
    assert len(ellipse & polyline) == 1  # that of the reader without marks, which is the same
    fewer = MarkSet(mark_set.marks[:2], mark_set.readings.iloc[[0, 2]], mark_set.images)
    assert not uids(fewer) & ellipse


def test_the_patient_is_content(mark_set, tmp_path, write):
    before = write(mark_set)[0]
    make_image(tmp_path / "a.dcm", "1.2.3.4", PatientID="P2")
    assert write(mark_set)[0].SOPInstanceUID != before.SOPInstanceUID


def test_the_same_content_is_the_same_file(mark_set, tmp_path, write):
    write(mark_set)
    files = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write(mark_set)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files
    for path in files:
        assert dicom_documents.content_uid(dcmread(path)) == path.stem


def test_a_damaged_file_is_written_anew(mark_set, tmp_path, write):
    document = write(mark_set)[0]
    path = tmp_path / "out" / f"{document.SOPInstanceUID}.dcm"
    for damaged in (b"", path.read_bytes()[:-20], path.read_bytes().replace(b"A^B", b"A^C")):
        path.write_bytes(damaged)
        write(mark_set)
        assert dicom_documents.content_uid(dcmread(path)) == path.stem


def test_series_tell_readers_kinds_and_programs_apart(mark_set, tmp_path):
    seen = set()
    for write, observer in itertools.product(WRITERS.values(), ("person", "device")):
        for path in write(mark_set, tmp_path / "out", images_folder=tmp_path, observer=observer):
            document = dcmread(path)
            seen.add((document.SeriesInstanceUID, document.SeriesNumber, document.SeriesDescription))
    assert len(seen) == 8
    assert len({uid for uid, _, _ in seen}) == len({number for _, number, _ in seen}) == 8
    assert "Overread SR: marks of R1" in {description for _, _, description in seen}
    assert "Overread PR: detections by R1" in {description for _, _, description in seen}


def test_a_long_name_still_makes_a_series_description(mark_set, tmp_path):
    reader = "a\\b" + "x" * 100
    readings = pd.concat([mark_set.readings, mark_set.readings[:1].assign(reader_id=reader)])
    paths = write_sr(
        MarkSet(mark_set.marks, readings, mark_set.images), tmp_path / "out", images_folder=tmp_path
    )
    last = dcmread(paths[-1])
    assert last.SeriesDescription == "Overread SR: marks of ab" + "x" * 40
    assert last.SeriesNumber == 91001 + mark_set.readings["reader_id"].nunique()


@pytest.mark.parametrize(("kind", "read", "step"), [("sr", dicom_sr.read, 97), ("gsps", gsps.read, 211)])
def test_every_truncation_is_refused(mark_set, tmp_path, kind, read, step):
    raw = WRITERS[kind](mark_set, tmp_path / "out", images_folder=tmp_path)[0].read_bytes()
    cut, spacings = tmp_path / "cut.dcm", Spacings.of(images=mark_set.images)
    for length in range(0, len(raw), step):
        cut.write_bytes(raw[:length])
        with pytest.raises(FormatError, match=r"cut\.dcm"):
            read(cut, spacings=spacings)


def test_flags_agree(mark_set, tmp_path):
    for path in write_sr(mark_set, Path(tmp_path / "out"), images_folder=tmp_path):
        document = dcmread(path)
        flags = (document.CompletionFlag, document.PreliminaryFlag, document.VerificationFlag)
        assert flags == ("COMPLETE", "FINAL", "UNVERIFIED")

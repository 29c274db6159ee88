"""DICOM SR TID 1500: valid by dciodvfy, there and back to float32, and hostile files refused."""

import math
from pathlib import Path

import numpy as np
import pytest
from highdicom.sr import srread
from hypothesis import given, settings
from hypothesis import strategies as st
from pydicom import dcmread
from pydicom.dataset import Dataset

from dicom_marks import COLUMNS, complaints, make_image
from overread.errors import FormatError, TableError, UsageError
from overread.marks import MarkSet, Spacings, combine, rescale_ellipses
from overread.marks.formats import _dicom_documents as dicom_documents
from overread.marks.formats import dicom_sr, gsps
from overread.marks.formats._dicom_writers import write_gsps, write_sr


def write_and_read(mark_set: MarkSet, folder: Path, geometry: str) -> tuple[list[Path], list[MarkSet]]:
    paths = write_sr(mark_set, folder / geometry, images_folder=folder, geometry=geometry)
    return paths, [dicom_sr.read(path, spacings=Spacings.of(images=mark_set.images)) for path in paths]


@pytest.mark.parametrize("kind", ["ellipse", "polyline", "states"])
def test_there_and_back_to_float32(mark_set, tmp_path, kind):
    spacings = Spacings.of(images=mark_set.images)
    if kind == "states":
        states = write_gsps(mark_set, tmp_path / "states", images_folder=tmp_path)
        found = combine([gsps.read(path, spacings=spacings) for path in states])
    else:
        _, (first, second) = write_and_read(mark_set, tmp_path, kind)
        assert second.marks.empty
        assert second.readings.to_numpy().tolist() == [["a", "=1+1 é"], ["b", "=1+1 é"]]
        assert first.readings.to_numpy().tolist() == [["a", "R1"], ["b", "R1"]]
        assert first.images["patient_id"].tolist() == ["P1", "P1"]
        found = combine([first, second])
    marks, exact = mark_set.marks, ["image_id", "reader_id", "mark_id", "label"]
    assert found.marks[exact].to_numpy().tolist() == marks[exact].to_numpy().tolist()
    np.testing.assert_array_equal(found.marks["confidence"], marks["confidence"])
    # 2000 px in float32 have steps of 1.2e-4 px, that is 2.4e-5 mm.
    np.testing.assert_allclose(found.marks[COLUMNS[:4]], marks[COLUMNS[:4]], atol=5e-5)
    np.testing.assert_allclose(found.marks["angle_deg"], marks["angle_deg"], atol=2e-3)
    assert sorted(found.readings.to_numpy().tolist()) == sorted(mark_set.readings.to_numpy().tolist())
    assert kind != "states" or found.readings.equals(mark_set.readings)


@pytest.mark.parametrize("geometry", ["ellipse", "polyline"])
def test_the_validator_finds_no_error(mark_set, tmp_path, geometry):
    paths, _ = write_and_read(mark_set, tmp_path, geometry)
    assert [complaints(path) for path in paths] == [[]] * len(paths)


def test_highdicom_reads_the_same(mark_set, tmp_path):
    paths, _ = write_and_read(mark_set, tmp_path, "ellipse")
    report = srread(paths[0])
    groups = report.content.get_planar_roi_measurement_groups()
    assert [group.tracking_identifier for group in groups] == ["1.10", "1.1", "=x"]
    points = groups[0].roi.value
    assert points.shape == (4, 2)
    assert points.mean(axis=0) == pytest.approx([300, 150], abs=1e-4)


@given(
    shape=st.tuples(
        st.floats(50, 100), st.floats(100, 200), st.floats(1, 40), st.floats(0.1, 1), st.floats(0, 179.9)
    ),
    spacing=st.tuples(st.floats(0.1, 0.2), st.floats(0.1, 0.2)),
    geometry=st.sampled_from(["ellipse", "polyline"]),
)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_any_ellipse_comes_back_from_float32(shape, spacing, geometry):
    x, y, a, ratio, angle = shape
    mark = dict(zip(COLUMNS, (x, y, a, a * ratio, angle), strict=True))
    image = {"mm_per_px_x": spacing[0], "mm_per_px_y": spacing[1]}
    region = Dataset()
    region.GraphicType = geometry.upper()
    header = Dataset()
    header.Rows, header.Columns = 4000, 4000
    points = dicom_documents.graphic_points(mark, image, header, geometry).astype(np.float32)
    region.GraphicData = points.ravel().astype(float).tolist()
    found = dicom_sr.shape_of(region, "here")
    back = rescale_ellipses([[*found.centre, *found.semi_axes, found.angle_deg]], *spacing)[0]
    np.testing.assert_allclose(
        second_moments(back), second_moments(np.array([x, y, a, a * ratio, angle])), atol=0.01
    )


def second_moments(row: np.ndarray) -> np.ndarray:
    """Centre and M M^T, which do not jump where the angle does."""
    x, y, a, b, angle = row
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turned = np.array([[cos, -sin], [sin, cos]]) * [a, b]
    return np.array([x, y, *(turned @ turned.T).ravel()])


def test_one_document_for_each_study(mark_set, tmp_path):
    make_image(tmp_path / "b.dcm", "1.2.3.5", study="1.2.9")
    paths, _ = write_and_read(mark_set, tmp_path, "ellipse")
    assert len(paths) == 4


def test_without_an_images_table_the_uid_is_the_id(mark_set, tmp_path):
    paths, _ = write_and_read(mark_set, tmp_path, "ellipse")
    found = dicom_sr.read(paths[0], spacings=Spacings.of((0.1, 0.2)))
    assert found.images["image_id"].tolist() == ["1.2.3.4", "1.2.3.5"]
    with pytest.raises(
        FormatError, match=r"image '1\.2\.3\.4': neither the file nor an images table states its pixel size"
    ):
        dicom_sr.read(paths[0])


def test_what_writing_needs(mark_set, tmp_path):
    with pytest.raises(UsageError, match="geometry"):
        write_and_read(mark_set, tmp_path, "circle")
    with pytest.raises(TableError, match="column path"):
        write_and_read(
            MarkSet(mark_set.marks, mark_set.readings, mark_set.images.drop(columns="path")),
            tmp_path,
            "ellipse",
        )
    (tmp_path / "a.dcm").write_bytes(b"no DICOM")
    with pytest.raises(FormatError, match=r"a\.dcm"):
        write_and_read(mark_set, tmp_path, "ellipse")


def nested(levels: int) -> bytes:
    """File meta of an SR, then content sequences of undefined length inside one another."""
    head = b"\0" * 128 + b"DICM" + element(2, 0x0010, b"UI", b"1.2.840.10008.1.2.1\0")
    sr_class = element(8, 0x0016, b"UI", b"1.2.840.10008.5.1.4.1.1.88.33")
    opening = b"\x40\x00\x30\xa7SQ\0\0\xff\xff\xff\xff" + b"\xfe\xff\x00\xe0\xff\xff\xff\xff"
    return head + sr_class + opening * levels


def element(group: int, number: int, vr: bytes, value: bytes) -> bytes:
    value += b"\0" * (len(value) % 2)
    return (
        group.to_bytes(2, "little")
        + number.to_bytes(2, "little")
        + vr
        + len(value).to_bytes(2, "little")
        + value
    )


@pytest.mark.parametrize("levels", [300, 100_000])
def test_deep_nesting_is_refused(tmp_path, levels):
    path = tmp_path / "deep.dcm"
    path.write_bytes(nested(levels))
    with pytest.raises(FormatError, match=r"deep\.dcm"):
        dicom_sr.read(path)


def test_an_element_of_four_gigabytes_is_refused(tmp_path):
    path = tmp_path / "long.dcm"
    path.write_bytes(nested(0) + b"\x40\x00\x60\xa1UT\0\0\xf0\xff\xff\xff" + b"abc")
    with pytest.raises(FormatError, match=r"long\.dcm"):
        dicom_sr.read(path)


@pytest.mark.parametrize(
    "raw", [b"", b"PNG", b"\0" * 200, b"\0" * 128 + b"DICM", b"\0" * 128 + b"DICM" + b"\xff" * 50]
)
def test_other_files_are_refused(tmp_path, raw):
    path = tmp_path / "x.dcm"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=r"x\.dcm"):
        dicom_sr.read(path)


def test_an_image_is_no_report(mark_set, tmp_path):
    with pytest.raises(FormatError, match="not a structured report"):
        dicom_sr.read(tmp_path / "a.dcm")


def edited(path: Path, tmp_path: Path, change) -> Path:
    document = dcmread(path)
    groups = [item for item in dicom_sr._walk(document) if dicom_sr._concept(item) == dicom_sr.GROUP]
    change(document, groups[0])
    target = tmp_path / "edited.dcm"
    document.save_as(target)
    return target


def region_of(group: Dataset) -> Dataset:
    return next(item for item in dicom_sr._walk_group(group) if item.ValueType == "SCOORD")


def set_graphic(kind: str, data: list[float]):
    def change(_document, group):
        region_of(group).GraphicType, region_of(group).GraphicData = kind, data

    return change


def drop_observer(document, _group):
    document.ContentSequence = [
        item
        for item in document.ContentSequence
        if dicom_sr._concept(item) not in (dicom_sr.LOGIN, dicom_sr.PERSON)
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_graphic("POINT", [1.0, 2.0]), "not an ellipse"),
        (set_graphic("ELLIPSE", [1.0, 2.0, 3.0, 4.0]), "not an ellipse"),
        (set_graphic("ELLIPSE", [1.0] * 8), "semi-axes"),
        (set_graphic("POLYLINE", [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 9.0, 9.0]), "not an ellipse"),
        (set_graphic("ELLIPSE", [math.nan] * 8), "finite"),
        (drop_observer, "no observer"),
    ],
)
def test_reports_that_say_nothing_usable(mark_set, tmp_path, change, words):
    paths, _ = write_and_read(mark_set, tmp_path, "ellipse")
    path = edited(paths[0], tmp_path, change)
    with pytest.raises(FormatError, match=words):
        dicom_sr.read(path, spacings=Spacings.of(images=mark_set.images))

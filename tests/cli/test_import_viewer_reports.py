"""Structured reports of OHIF and Cornerstone are read; what we cannot read is never "read, nothing found".

The documents have the structure that dcmjs gives them (TID 300 and 320): coordinates below a measurement by INFERRED
FROM, no image region, one tracking identifier for all marks of a tool.
"""

import math
from pathlib import Path

import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from dicom_marks import make_image, make_mark_set
from overread.cli import main
from overread.marks import read_folder
from overread.marks.formats._dicom_writers import write_gsps

UID = "1.2.3.4"
SPACING = 0.5


def code(value: str, scheme: str, meaning: str) -> Sequence:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, scheme, meaning
    return Sequence([item])


def content(kind: str, relation: str, name: Sequence | None = None, **values) -> Dataset:
    item = Dataset()
    item.ValueType, item.RelationshipType = kind, relation
    if name is not None:
        item.ConceptNameCodeSequence = name
    for key, value in values.items():
        setattr(item, key, value)
    return item


def image_item(relation: str) -> Dataset:
    referred = Dataset()
    referred.ReferencedSOPClassUID, referred.ReferencedSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.1.1", UID
    return content("IMAGE", relation, ReferencedSOPSequence=Sequence([referred]))


def measure(kind: str | None, points: list[float], name: str = "Area", value_type: str = "SCOORD") -> Dataset:
    """Numeric measurement, inferred from coordinates where there are any."""
    measured = Dataset()
    measured.NumericValue = "1"
    measured.MeasurementUnitsCodeSequence = code("mm2", "UCUM", "mm2")
    item = content(
        "NUM", "CONTAINS", code("42798000", "SCT", name), MeasuredValueSequence=Sequence([measured])
    )
    if kind is not None:
        drawn = content(value_type, "INFERRED FROM", GraphicType=kind, GraphicData=points)
        drawn.ContentSequence = Sequence([image_item("SELECTED FROM")])
        item.ContentSequence = Sequence([drawn])
    return item


def group(*measures: Dataset, tool: str = "EllipticalROI") -> Dataset:
    tracking = content(
        "TEXT",
        "HAS OBS CONTEXT",
        code("112039", "DCM", "Tracking Identifier"),
        TextValue=f"Cornerstone3DTools@^0.1.0:{tool}",
    )
    uid = content(
        "UIDREF",
        "HAS OBS CONTEXT",
        code("112040", "DCM", "Tracking Unique Identifier"),
        UID=generate_uid(entropy_srcs=[tool, *map(str, measures)]),
    )
    finding = content(
        "CODE",
        "CONTAINS",
        code("121071", "DCM", "Finding"),
        ConceptCodeSequence=code("27925004", "SCT", "Nodule"),
    )
    made = content("CONTAINER", "CONTAINS", code("125007", "DCM", "Measurement Group"))
    made.ContentSequence = Sequence([tracking, uid, finding, *measures])
    return made


def write_report(path: Path, *groups: Dataset, observer: str = "Reader^One") -> Path:
    report = Dataset()
    report.file_meta = FileMetaDataset()
    report.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    report.file_meta.MediaStorageSOPClassUID = report.SOPClassUID = "1.2.840.10008.5.1.4.1.1.88.33"
    report.file_meta.MediaStorageSOPInstanceUID = report.SOPInstanceUID = "1.2.3.9"
    report.PatientID = "P1"
    report.ConceptNameCodeSequence = code("126000", "DCM", "Imaging Measurement Report")
    who = content(
        "PNAME", "HAS OBS CONTEXT", code("121008", "DCM", "Person Observer Name"), PersonName=observer
    )
    library = content("CONTAINER", "CONTAINS", code("111028", "DCM", "Image Library"))
    listed = content("CONTAINER", "CONTAINS", code("126200", "DCM", "Image Library Group"))
    listed.ContentSequence = Sequence([image_item("CONTAINS")])
    library.ContentSequence = Sequence([listed])
    measurements = content("CONTAINER", "CONTAINS", code("126010", "DCM", "Imaging Measurements"))
    measurements.ContentSequence = Sequence(list(groups))
    report.ContentSequence = Sequence([who, library, measurements])
    report.save_as(path, enforce_file_format=True)
    return path


def import_report(path: Path, *more: str) -> int:
    return main(
        ["import", str(path), "--mm-per-px", str(SPACING), "--output", str(path.parent / "study"), *more]
    )


def drawn_ellipse(x: float, y: float, a: float, b: float, turn: float) -> list[float]:
    """End points of the major, then of the minor axis."""
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    return [
        x - a * cos,
        y - a * sin,
        x + a * cos,
        y + a * sin,
        x + b * sin,
        y - b * cos,
        x - b * sin,
        y + b * cos,
    ]


def test_an_ellipse_of_a_viewer_is_a_mark(tmp_path):
    path = write_report(
        tmp_path / "sr.dcm",
        group(measure("ELLIPSE", drawn_ellipse(400, 300, 40, 20, 30)), measure(None, [], "Maximum")),
        group(measure("ELLIPSE", drawn_ellipse(100, 200, 30, 10, 0))),
    )
    assert import_report(path) == 0
    found = read_folder(tmp_path / "study")
    shapes = found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]].to_numpy()
    assert shapes[0] == pytest.approx([200, 150, 20, 10, 30], abs=1e-3)
    assert shapes[1] == pytest.approx([50, 100, 15, 5, 0], abs=1e-3)
    assert found.marks["mark_id"].nunique() == 2
    assert set(found.marks["label"]) == {"Nodule"}
    assert found.readings["reader_id"].tolist() == ["Reader^One"]


@pytest.mark.parametrize(
    ("kind", "points", "expected"),
    [
        ("CIRCLE", [100, 200, 106, 208], [50, 100, 5, 5]),
        # A square's second moments are those of a circle whose radius is the side over the root of 3.
        ("POLYLINE", [90, 190, 110, 190, 110, 210, 90, 210, 90, 190], [50, 100, 5.7735, 5.7735]),
    ],
)
def test_circles_and_closed_outlines_are_marks(tmp_path, kind, points, expected):
    assert import_report(write_report(tmp_path / "sr.dcm", group(measure(kind, points)))) == 0
    marks = read_folder(tmp_path / "study").marks
    assert len(marks) == 1
    shape = marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()[0]
    assert shape == pytest.approx(expected, rel=0.03)


def test_lines_beside_an_ellipse_measure_it(tmp_path):
    path = write_report(
        tmp_path / "sr.dcm",
        group(
            measure("POLYLINE", [100, 200, 140, 200], "Long Axis"),
            measure("ELLIPSE", drawn_ellipse(120, 200, 20, 10, 0)),
            measure("ELLIPSE", drawn_ellipse(120, 200, 20, 10, 0), "Mean"),
        ),
    )
    assert import_report(path) == 0
    assert len(read_folder(tmp_path / "study").marks) == 1


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        ([("POLYLINE", [100, 200, 140, 200])], "POLYLINE with 2 points"),
        ([("POLYLINE", [100, 200, 140, 200]), ("POLYLINE", [120, 190, 120, 210])], "POLYLINE with 2 points"),
        ([("POINT", [100, 200])], "POINT with 1 points"),
        ([(None, [])], "has no shape"),
        ([], "has no shape"),
    ],
)
def test_a_group_without_a_shape_is_an_error_and_no_negative_reading(tmp_path, capsys, measures, words):
    good = group(measure("ELLIPSE", drawn_ellipse(120, 200, 20, 10, 0)))
    bad = group(*(measure(*one) for one in measures), tool="Length")
    for groups in ([bad], [good, bad]):
        assert import_report(write_report(tmp_path / "sr.dcm", *groups)) == 4
        said = capsys.readouterr().err
        assert words in said
        assert f"measurement group {len(groups)}" in said
        assert not (tmp_path / "study").exists()


def test_coordinates_in_space_are_refused(tmp_path, capsys):
    path = write_report(tmp_path / "sr.dcm", group(measure("ELLIPSE", [1.0] * 12, value_type="SCOORD3D")))
    assert import_report(path) == 4
    assert "SCOORD3D" in capsys.readouterr().err


@pytest.mark.parametrize("value_type", ["SCOORD", "SCOORD3D"])
@pytest.mark.parametrize("found", ["nothing", "an ellipse"])
def test_a_shape_outside_the_groups_is_an_error_and_no_negative_reading(tmp_path, capsys, value_type, found):
    inside = group(*([] if found == "nothing" else [measure("ELLIPSE", drawn_ellipse(120, 200, 20, 10, 0))]))
    if found == "nothing":
        inside.ContentSequence[2].ConceptCodeSequence = code("260415000", "SCT", "Not detected")
    assert import_report(write_report(tmp_path / "sr.dcm", inside)) == 0
    elsewhere = content("CONTAINER", "CONTAINS", code("121070", "DCM", "Findings"))
    elsewhere.ContentSequence = Sequence([measure("CIRCLE", [100, 200, 106, 208], value_type=value_type)])
    assert import_report(write_report(tmp_path / "sr.dcm", inside, elsewhere), "--overwrite") == 4
    assert "a shape outside the measurement groups" in capsys.readouterr().err


def test_a_report_without_groups_is_refused(tmp_path, capsys):
    assert import_report(write_report(tmp_path / "sr.dcm")) == 4
    assert "no measurement group" in capsys.readouterr().err


def test_the_viewers_unknown_observer_is_nobody(tmp_path, capsys):
    path = write_report(
        tmp_path / "sr.dcm",
        group(measure("ELLIPSE", drawn_ellipse(120, 200, 20, 10, 0))),
        observer="unknown^unknown",
    )
    assert import_report(path) == 4
    assert "--reader NAME=" in capsys.readouterr().err
    named = ["--reader", f"Ann={path}", "--mm-per-px", "1", "--output", str(tmp_path / "study")]
    assert main(["import", *named]) == 0
    assert read_folder(tmp_path / "study").marks["reader_id"].tolist() == ["Ann"]


def text_on_the_image() -> Dataset:
    text = Dataset()
    text.UnformattedTextValue, text.AnchorPoint = "nodule?", [100.0, 200.0]
    text.AnchorPointAnnotationUnits, text.AnchorPointVisibility = "PIXEL", "Y"
    return text


def compound_ellipse() -> Dataset:
    drawn = Dataset()
    drawn.CompoundGraphicType, drawn.CompoundGraphicUnits = "ELLIPSE", "PIXEL"
    drawn.GraphicData = [10.0, 20.0, 30.0, 40.0]
    return drawn


@pytest.mark.parametrize("what", ["text", "compound graphics", "overlay"])
def test_a_presentation_state_of_other_drawings_is_no_negative_reading(tmp_path, capsys, what):
    marks = make_mark_set(tmp_path)
    path = write_gsps(marks, tmp_path / "states", images_folder=tmp_path)[0]
    state = dcmread(path)
    annotation = state.GraphicAnnotationSequence[0]
    del annotation.GraphicObjectSequence
    annotation.TextObjectSequence = [text_on_the_image()] if what == "text" else []
    if what == "compound graphics":
        annotation.CompoundGraphicSequence = [compound_ellipse()]
    if what == "overlay":
        state.add_new((0x6000, 0x1001), "CS", "MARKS")
    state.save_as(tmp_path / "other.dcm")
    out = ["--mm-per-px", "0.1", "--output", str(tmp_path / "study")]
    assert main(["import", str(tmp_path / "other.dcm"), *out]) == 4
    assert f"'1.2.3.4' has only drawings that are not imported: {what} (" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_the_image_of_the_report_is_found_by_its_uid(tmp_path):
    make_image(tmp_path / "a.dcm", UID)
    path = write_report(tmp_path / "sr.dcm", group(measure("CIRCLE", [100, 200, 106, 208])))
    table = tmp_path / "images.csv"
    table.write_text("image_id,mm_per_px_x,mm_per_px_y,sop_instance_uid\na,0.5,0.5,1.2.3.4\n")
    arguments = ["--images", str(table), "--output", str(tmp_path / "study")]
    assert main(["import", str(path), *arguments]) == 0
    assert read_folder(tmp_path / "study").marks["image_id"].tolist() == ["a"]

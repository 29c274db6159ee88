"""Confidence survives Label Studio, VIA and CVAT, on the scale that it has, or its loss is said."""

import json
import math
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.marks import MarkSet, labelling_config, read_folder, write_folder

CONFIDENCE = [0.05, 1 / 3, math.nan, 100.0, 70.0, 0.0]


def make_study(folder: Path) -> MarkSet:
    images = pd.DataFrame({"image_id": ["a", "b"], "path": ["a.png", "b.png"]}).assign(
        mm_per_px_x=0.5, mm_per_px_y=0.5, width_px=400.0, height_px=300.0
    )
    readings = pd.DataFrame({"image_id": ["a", "b", "a", "b"], "reader_id": ["1", "1", "2", "2"]})
    marks = pd.DataFrame({"image_id": ["a", "b"] * 3, "reader_id": ["1"] * 3 + ["2"] * 3}).assign(
        mark_id=[f"m{number}" for number in range(6)],
        x_mm=np.linspace(20, 180, 6),
        y_mm=np.linspace(100, 50, 6),
        semi_major_mm=9.0,
        semi_minor_mm=4.0,
        angle_deg=np.linspace(0, 150, 6),
        confidence=CONFIDENCE,
        label=["Nodule", "", "Mass"] * 2,
    )
    study = MarkSet(marks, readings, images)
    write_folder(study, folder)
    return study


def compare(found: MarkSet, study: MarkSet) -> None:
    """Every mark is there once, with place, label and confidence."""
    tables = [one.marks.sort_values(["x_mm"]).reset_index(drop=True) for one in (found, study)]
    assert len(tables[0]) == len(tables[1])
    numbers = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "confidence"]
    np.testing.assert_allclose(*(table[numbers].to_numpy() for table in tables), rtol=1e-9)
    np.testing.assert_array_equal(tables[0]["confidence"], tables[1]["confidence"])
    assert tables[0]["label"].tolist() == tables[1]["label"].tolist()


def test_label_studio_there_and_back(tmp_path, capsys):
    study = make_study(tmp_path / "study")
    tasks = tmp_path / "tasks.json"
    assert main(["export", str(tmp_path / "study"), "--output", str(tasks)]) == 0
    images = ["--images", str(tmp_path / "study" / "images.csv")]
    options = ["--image-key", "image_id", *images, "--output", str(tmp_path / "back")]
    assert main(["import", str(tasks), *options]) == 0
    compare(read_folder(tmp_path / "back"), study)
    assert capsys.readouterr().err == ""


def test_the_labelling_interface_has_the_control_that_the_tasks_name(tmp_path):
    make_study(tmp_path / "study")
    tasks = tmp_path / "tasks.json"
    assert main(["export", str(tmp_path / "study"), "--output", str(tasks)]) == 0
    results = [
        one
        for task in json.loads(tasks.read_text())
        for entry in task["annotations"]
        for one in entry["result"]
    ]
    controls = {one.get("name"): one.tag for one in fromstring(labelling_config(["Mass"], confidence=True))}
    assert {one["from_name"] for one in results} == {"label", "confidence"} <= set(controls)
    assert controls["confidence"] == "Number"


def test_via_there_and_back(tmp_path, capsys):
    study = make_study(tmp_path / "study")
    files = []
    for reader in ("1", "2"):
        files += ["--reader", f"{reader}={tmp_path / reader}.json"]
        options = ["--format", "via", "--reader", reader, "--output", f"{tmp_path / reader}.json"]
        assert main(["export", str(tmp_path / "study"), *options]) == 0
    images = ["--images", str(tmp_path / "study" / "images.csv")]
    assert main(["import", *files, *images, "--output", str(tmp_path / "back")]) == 0
    compare(read_folder(tmp_path / "back"), study)
    assert capsys.readouterr().err == ""


CVAT = """<annotations><image id="0" name="a.png" width="400" height="300">{}</image></annotations>"""
SHAPE = """<ellipse label="n" cx="{}" cy="50" rx="10" ry="5">
<attribute name="size">big</attribute><attribute name="{}">{}</attribute></ellipse>"""


def via_file(value: object) -> str:
    region = {
        "shape_attributes": {"name": "circle", "cx": 50, "cy": 50, "r": 9},
        "region_attributes": {"Certainty": value, "kind": "Mass"},
    }
    return json.dumps({"a": {"filename": "a.png", "size": 1, "regions": [region]}})


def label_studio_file(control: str, kind: str, value: object) -> str:
    """Annotation as Label Studio exports it: what a control says of a region repeats its id, size and shape."""
    head = {
        "id": "r1",
        "to_name": "image",
        "original_width": 400,
        "original_height": 300,
        "image_rotation": 0,
    }
    shape = {"x": 50, "y": 50, "radiusX": 5, "radiusY": 5, "rotation": 0}
    drawn = {**head, "from_name": "label", "type": "ellipselabels"}
    told = {**head, "from_name": control, "type": kind, "value": {**shape, kind: value}}
    result = [told, {**drawn, "value": {**shape, "ellipselabels": ["Mass"]}}]
    annotation = {"id": 1, "completed_by": 1, "was_cancelled": False, "result": result}
    return json.dumps([{"id": 1, "data": {"image": "a.png"}, "annotations": [annotation]}])


@pytest.mark.parametrize(
    ("name", "text", "confidence", "said"),
    [
        ("v.json", via_file("85"), 85.0, ""),
        ("c.xml", CVAT.format(SHAPE.format(50, "confidence", "1e-2")), 0.01, ""),
        ("c.xml", CVAT.format(SHAPE.format(50, "confidence", "")), None, ""),
        ("v.json", via_file("rather sure"), None, "1 values of 'Certainty' that are not numbers"),
        (
            "c.xml",
            CVAT.format(SHAPE.format(50, "confidence", "high")),
            None,
            "1 values of 'confidence' that are",
        ),
        ("l.json", label_studio_file("confidence", "rating", 4), 4.0, ""),
        ("l.json", label_studio_file("confidence", "number", 0.25), 0.25, ""),
        ("l.json", label_studio_file("Confidence", "choices", ["3"]), 3.0, ""),
        (
            "l.json",
            label_studio_file("confidence", "choices", ["high"]),
            None,
            "1 values of 'confidence' that are",
        ),
        ("l.json", label_studio_file("shape", "choices", ["round"]), None, ""),
    ],
)
def test_numbers_are_read_and_the_loss_of_others_is_said(tmp_path, capsys, name, text, confidence, said):
    path = tmp_path / name
    path.write_text(text)
    source = [str(path)] if name == "l.json" else ["--reader", f"R={path}"]
    assert main(["import", *source, "--mm-per-px", "1", "--output", str(tmp_path / "study")]) == 0
    marks = read_folder(tmp_path / "study").marks
    assert len(marks) == 1
    assert (marks["confidence"].tolist() if "confidence" in marks else [None]) == [confidence]
    err = capsys.readouterr().err
    assert said in err
    assert bool(err) == bool(said)


@pytest.mark.parametrize("tied", [True, False])
def test_json_min_gives_one_mark_a_region(tmp_path, capsys, tied):
    shape = {"x": 50, "y": 50, "radiusX": 5, "radiusY": 5, "rotation": 0}
    size = {"original_width": 400, "original_height": 300}
    record = {
        "image": "a.png",
        "annotation_id": 1,
        "annotator": 1,
        "label": [{**shape, **size, "ellipselabels": ["Mass"]}],
        "confidence": [{**shape, **size, "number": 0.4}] if tied else 0.4,
    }
    (tmp_path / "m.json").write_text(json.dumps([record]))
    options = ["--not-rotated", "--mm-per-px", "1", "--output", str(tmp_path / "study")]
    assert main(["import", str(tmp_path / "m.json"), *options]) == 0
    marks = read_folder(tmp_path / "study").marks
    assert len(marks) == 1
    assert ("confidence" in marks) == tied
    assert ("does not link to a region" in capsys.readouterr().err) == (not tied)

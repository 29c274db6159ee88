"""Item 9: a reading that was left out for shapes that are not read never comes back as "read, nothing found"."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from overread.cli import main
from overread.marks import read_folder, read_marks

IMAGES = ("case1", "case2", "case3")
# What reader A drew: an ellipse, a shape that is not read, nothing. Reader B drew an ellipse on each.
DRAWN = {"case1": "ellipse", "case2": "other", "case3": None}
EXPECTED = {("case1", "A"), ("case3", "A"), *((image, "B") for image in IMAGES)}


@pytest.fixture
def study(tmp_path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    rows = ["image_id,path,mm_per_px_x,mm_per_px_y,width_px,height_px"]
    for image in IMAGES:
        (folder / f"{image}.dcm").write_bytes(b"is not opened by an import")
        rows.append(f"{image},{image}.dcm,0.7,0.7,500,610")
    (folder / "images.csv").write_text("\n".join(rows) + "\n")
    return folder


def shapes_of(reader: str, image: str) -> list[str]:
    drawn = DRAWN[image] if reader == "A" else "ellipse"
    return [] if drawn is None else [drawn]


def cvat(folder: Path) -> list[str]:
    arguments = []
    elements = {
        "ellipse": '<ellipse label="n" cx="100" cy="100" rx="9" ry="9"/>',
        "other": '<mask label="n" left="90" top="90" width="20" height="20" rle="0, 400"/>',
    }
    for reader in "AB":
        images = "".join(
            f'<image id="{number}" name="{image}.png" width="500" height="610">'
            f"{''.join(elements[one] for one in shapes_of(reader, image))}</image>"
            for number, image in enumerate(IMAGES)
        )
        (folder / f"{reader}.xml").write_text(f"<annotations>{images}</annotations>")
        arguments += ["--reader", f"{reader}={folder / f'{reader}.xml'}"]
    return arguments


def via(folder: Path) -> list[str]:
    arguments = []
    shapes = {
        "ellipse": {"name": "ellipse", "cx": 100, "cy": 100, "rx": 9, "ry": 9},
        "other": {"name": "polyline", "all_points_x": [90, 110], "all_points_y": [90, 110]},
    }
    for reader in "AB":
        entries = {
            image: {
                "filename": f"{image}.png",
                "regions": [
                    {"shape_attributes": shapes[one], "region_attributes": {}}
                    for one in shapes_of(reader, image)
                ],
            }
            for image in IMAGES
        }
        (folder / f"{reader}.json").write_text(json.dumps(entries))
        arguments += ["--reader", f"{reader}={folder / f'{reader}.json'}"]
    return [*arguments, "--format", "via"]


VALUES = {
    "ellipse": {"x": 20, "y": 20, "radiusX": 2, "radiusY": 2, "rotation": 0},
    "other": {"points": [[10, 10], [20, 10], [20, 20]]},
}


def annotation(number: int, reader: str, shapes: list[str], *, cancelled: bool = False) -> dict[str, object]:
    frame = {"original_width": 500, "original_height": 610, "image_rotation": 0}
    result = [{"id": f"{number}{one}", **frame, "value": VALUES[one]} for one in shapes]
    return {"id": number, "completed_by": {"id": reader}, "was_cancelled": cancelled, "result": result}


def label_studio(folder: Path) -> list[str]:
    tasks = [
        {
            "id": number,
            "data": {"image": f"{image}.png"},
            "annotations": [
                annotation(2 * number + place, reader, shapes_of(reader, image))
                for place, reader in enumerate("AB")
            ],
        }
        for number, image in enumerate(IMAGES)
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return [str(folder / "tasks.json")]


def json_min(folder: Path) -> list[str]:
    records = [
        {
            "image": f"{image}.png",
            "annotation_id": f"{image}{reader}",
            "annotator": reader,
            "label": [
                {**VALUES[one], "original_width": 500, "original_height": 610}
                for one in shapes_of(reader, image)
            ],
        }
        for image in IMAGES
        for reader in "AB"
    ]
    (folder / "min.json").write_text(json.dumps(records))
    return [str(folder / "min.json"), "--format", "label-studio", "--not-rotated"]


def readings_of(folder: Path) -> set[tuple[str, str]]:
    table = read_folder(folder).readings
    return set(zip(table["image_id"], table["reader_id"], strict=True))


FORMATS: list[Callable[[Path], list[str]]] = [cvat, via, label_studio, json_min]


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("rule", ["--all-read-all", "--readers", "--readings", ""])
def test_a_reading_of_shapes_that_are_not_read_stays_out(study, capsys, write, rule):
    told = study.parent / "who.csv"
    told.write_text("image,reader\n" + "".join(f"{image},{one}\n" for image in IMAGES for one in "AB"))
    rules = {"--all-read-all": [], "--readers": ["A,B"], "--readings": [str(told)]}
    options = [rule, *rules[rule]] if rule else []
    assert main(["import", *write(study.parent), *options, "--output", str(study)]) == 0
    assert readings_of(study) == EXPECTED
    said = capsys.readouterr().err
    assert "1 readings that hold nothing else" in said
    assert ("1 readings stay out, such as that of image 'case2' by reader 'A'" in said) == bool(rule)


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_without_a_study_and_with_other_names_too(tmp_path, write):
    arguments = [*write(tmp_path), "--mm-per-px", "0.7", "--all-read-all", "--reader-names", "A=Ann"]
    assert main(["import", *arguments, "--output", str(tmp_path / "out")]) == 0
    assert readings_of(tmp_path / "out") == {(i, "Ann" if r == "A" else r) for i, r in EXPECTED}


def test_a_second_file_without_shapes_does_not_bring_it_back(study, capsys):
    arguments = cvat(study.parent)
    empty = study.parent / "again.xml"
    empty.write_text('<annotations><image id="1" name="case2.png" width="500" height="610"/></annotations>')
    arguments += ["--reader", f"A={empty}"]
    assert main(["import", *arguments, "--output", str(study)]) == 0
    assert readings_of(study) == EXPECTED
    # A mark does: what the reader found is there.
    ellipse = '<ellipse label="n" cx="99" cy="99" rx="9" ry="9"/>'
    empty.write_text(empty.read_text().replace('"610"/>', f'"610">{ellipse}</image>'))
    assert main(["import", *arguments, "--all-read-all", "--output", str(study), "--overwrite"]) == 0
    assert readings_of(study) == EXPECTED | {("case2", "A")}


@pytest.mark.parametrize("first", [0, 1])
def test_a_second_annotation_without_shapes_does_not_bring_it_back(tmp_path, first):
    both = [annotation(1, "A", ["other"]), annotation(2, "A", [])]
    path = tmp_path / "tasks.json"
    task = {"id": 1, "data": {"image": "x.png"}, "annotations": [both[first], both[1 - first]]}
    path.write_text(json.dumps([task]))
    with pytest.warns(UserWarning, match="1 readings that hold nothing else"):
        found = read_marks(path, mm_per_px=0.7)
    assert found.readings.empty
    assert found.left_out == {("x.png", "A")}


def test_what_was_drawn_and_cancelled_is_not_nothing_found(study):
    label_studio(study.parent)
    path = study.parent / "tasks.json"
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"][0]["was_cancelled"] = True
    # A cancelled annotation beside a finished one says nothing.
    tasks[2]["annotations"].append(annotation(99, "A", ["ellipse"], cancelled=True))
    path.write_text(json.dumps(tasks))
    assert main(["import", str(path), "--all-read-all", "--output", str(study)]) == 0
    assert readings_of(study) == EXPECTED - {("case1", "A")}


def cvat_of_two_labels(folder: Path) -> list[str]:
    path = folder / "two.xml"
    path.write_text(
        "<annotations>"
        '<image id="0" name="case1.png" width="500" height="610">'
        '<ellipse label="Fracture" cx="100" cy="100" rx="9" ry="9"/>'
        '<mask label="Nodule" left="90" top="90" width="20" height="20" rle="0, 400"/></image>'
        '<image id="1" name="case2.png" width="500" height="610">'
        '<ellipse label="Fracture" cx="100" cy="100" rx="9" ry="9"/></image>'
        '<image id="2" name="case3.png" width="500" height="610">'
        '<ellipse label="Nodule" cx="100" cy="100" rx="9" ry="9"/>'
        '<mask label="Nodule" left="90" top="90" width="20" height="20" rle="0, 400"/></image>'
        "</annotations>"
    )
    return ["--reader", f"A={path}"]


def via_of_two_labels(folder: Path) -> list[str]:
    ellipse = {"name": "ellipse", "cx": 100, "cy": 100, "rx": 9, "ry": 9}
    line = {"name": "polyline", "all_points_x": [90, 110], "all_points_y": [90, 110]}
    drawn = {
        "case1": [(ellipse, "Fracture"), (line, "Nodule")],
        "case2": [(ellipse, "Fracture")],
        "case3": [(ellipse, "Nodule"), (line, "Nodule")],
    }
    entries = {
        image: {
            "filename": f"{image}.png",
            "regions": [
                {"shape_attributes": shape, "region_attributes": {"label": label}} for shape, label in regions
            ],
        }
        for image, regions in drawn.items()
    }
    (folder / "two.json").write_text(json.dumps(entries))
    return ["--reader", f"A={folder / 'two.json'}", "--format", "via"]


def label_studio_of_two_labels(folder: Path) -> list[str]:
    drawn = {
        "case1": [("ellipse", "Fracture"), ("other", "Nodule")],
        "case2": [("ellipse", "Fracture")],
        "case3": [("ellipse", "Nodule"), ("other", "Nodule")],
    }
    tasks = []
    for number, (image, regions) in enumerate(drawn.items()):
        made = annotation(number, "A", [shape for shape, _ in regions])
        for result, (_, label) in zip(made["result"], regions, strict=True):
            result["value"] = {**result["value"], "labels": [label]}
        tasks.append({"id": number, "data": {"image": f"{image}.png"}, "annotations": [made]})
    (folder / "two.json").write_text(json.dumps(tasks))
    return [str(folder / "two.json")]


@pytest.mark.parametrize("rule", [[], ["--all-read-all"]])
@pytest.mark.parametrize("write", [cvat_of_two_labels, via_of_two_labels, label_studio_of_two_labels])
def test_a_reading_that_keeps_only_shapes_that_are_not_read_stays_out(tmp_path, capsys, write, rule):
    study = tmp_path / "out"
    arguments = [*write(tmp_path), "--mm-per-px", "0.7", "--label", "Nodule", *rule]
    assert main(["import", *arguments, "--output", str(study)]) == 0
    assert readings_of(study) == {("case2", "A"), ("case3", "A")}
    assert read_folder(study).marks["image_id"].tolist() == ["case3"]
    assert "left out 1 readings that hold shapes that are not read" in capsys.readouterr().err


def test_the_public_function_keeps_it_out_too(tmp_path):
    path = cvat_of_two_labels(tmp_path)[1].partition("=")[2]
    with (
        pytest.warns(UserWarning, match="2 masks"),
        pytest.warns(UserWarning, match="left out 1 readings"),
    ):
        found = read_marks(path, reader="A", mm_per_px=0.7, labels=["Nodule"])
    assert found.readings["image_id"].tolist() == ["case2.png", "case3.png"]


def test_a_task_that_was_skipped_is_not_nothing_found(study):
    label_studio(study.parent)
    path = study.parent / "tasks.json"
    tasks = json.loads(path.read_text())
    tasks[2]["annotations"][0]["was_cancelled"] = True
    path.write_text(json.dumps(tasks))
    assert main(["import", str(path), "--all-read-all", "--output", str(study)]) == 0
    assert readings_of(study) == EXPECTED - {("case3", "A")}


@pytest.mark.parametrize(
    "draft",
    [
        {"id": 5, "user": "a@x.org", "created_username": " a@x.org, A", "result": []},
        {"id": 5, "user": "A", "result": [{"value": VALUES["ellipse"]}]},
        {"id": 5, "user": "a@x.org", "result": []},
        5,
    ],
)
def test_a_draft_that_was_not_submitted_is_not_nothing_found(study, capsys, draft):
    label_studio(study.parent)
    path = study.parent / "tasks.json"
    tasks = json.loads(path.read_text())
    del tasks[2]["annotations"][0]
    tasks[2]["drafts"] = [draft]
    # A draft beside a submitted annotation of its member says nothing.
    tasks[0]["drafts"] = [draft]
    path.write_text(json.dumps(tasks))
    assert main(["import", str(path), "--all-read-all", "--output", str(study)]) == 0
    assert readings_of(study) == EXPECTED - {("case3", "A")}
    assert "2 drafts" in capsys.readouterr().err

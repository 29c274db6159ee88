"""A reading that was left out for shapes that are not read never comes back as "read, nothing found"."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from overread.cli import main
from overread.marks import read_folder, read_marks

IMAGES = ("case1", "case2", "case3")
SIZE = {"original_width": 500, "original_height": 610}
# Shapes and their labels, by reader and image. Reader A draws an ellipse, a shape that is not read, nothing.
Drawn = dict[str, dict[str, list[tuple[str, str]]]]
ELLIPSE, OTHER = ("ellipse", ""), ("other", "")
DRAWN: Drawn = {
    "A": {"case1": [ELLIPSE], "case2": [OTHER], "case3": []},
    "B": {image: [ELLIPSE] for image in IMAGES},
}
TWO_LABELS: Drawn = {
    "A": {
        "case1": [("ellipse", "Fracture"), ("other", "Nodule")],
        "case2": [("ellipse", "Fracture")],
        "case3": [("ellipse", "Nodule"), ("other", "Nodule")],
    }
}
EXPECTED = {("case1", "A"), ("case3", "A"), *((image, "B") for image in IMAGES)}


@pytest.fixture
def study(study_of_images):
    return study_of_images(3)


def cvat(folder: Path, drawn: Drawn = DRAWN) -> list[str]:
    elements = {
        "ellipse": '<ellipse label="{}" cx="100" cy="100" rx="9" ry="9"/>',
        "other": '<mask label="{}" left="90" top="90" width="20" height="20" rle="0, 400"/>',
    }
    arguments = []
    for reader, images in drawn.items():
        written = "".join(
            f'<image id="{number}" name="{image}.png" width="500" height="610">'
            f"{''.join(elements[shape].format(label or 'n') for shape, label in shapes)}</image>"
            for number, (image, shapes) in enumerate(images.items())
        )
        (folder / f"{reader}.xml").write_text(f"<annotations>{written}</annotations>")
        arguments += ["--reader", f"{reader}={folder / f'{reader}.xml'}"]
    return arguments


def via(folder: Path, drawn: Drawn = DRAWN) -> list[str]:
    attributes = {
        "ellipse": {"name": "ellipse", "cx": 100, "cy": 100, "rx": 9, "ry": 9},
        "other": {"name": "polyline", "all_points_x": [90, 110], "all_points_y": [90, 110]},
    }
    arguments = []
    for reader, images in drawn.items():
        entries = {}
        for image, shapes in images.items():
            regions = [
                {
                    "shape_attributes": attributes[shape],
                    "region_attributes": {"label": label} if label else {},
                }
                for shape, label in shapes
            ]
            entries[image] = {"filename": f"{image}.png", "regions": regions}
        (folder / f"{reader}.json").write_text(json.dumps(entries))
        arguments += ["--reader", f"{reader}={folder / f'{reader}.json'}"]
    return [*arguments, "--format", "via"]


VALUES = {
    "ellipse": {"x": 20, "y": 20, "radiusX": 2, "radiusY": 2, "rotation": 0},
    "other": {"points": [[10, 10], [20, 10], [20, 20]]},
}


def annotation(number: int, reader: str, shapes: list[tuple[str, str]], *, cancelled: bool = False) -> dict:
    result = [
        {
            "id": f"{number}{one}",
            **SIZE,
            "image_rotation": 0,
            "value": VALUES[one] | ({"labels": [label]} if label else {}),
        }
        for one, label in shapes
    ]
    return {"id": number, "completed_by": {"id": reader}, "was_cancelled": cancelled, "result": result}


def label_studio(folder: Path, drawn: Drawn = DRAWN) -> list[str]:
    tasks = [
        {
            "id": number,
            "data": {"image": f"{image}.png"},
            "annotations": [
                annotation(2 * number + place, reader, drawn[reader][image])
                for place, reader in enumerate(drawn)
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
            "label": [{**VALUES[shape], **SIZE} for shape, _ in shapes],
        }
        for reader, images in DRAWN.items()
        for image, shapes in images.items()
    ]
    (folder / "min.json").write_text(json.dumps(records))
    return [str(folder / "min.json"), "--format", "label-studio", "--not-rotated"]


def import_changed(study: Path, change: Callable[[list[dict]], None]) -> set[tuple[str, str]]:
    """Import tasks of Label Studio after a change; return the readings that the study has."""
    label_studio(study.parent)
    path = study.parent / "tasks.json"
    tasks = json.loads(path.read_text())
    change(tasks)
    path.write_text(json.dumps(tasks))
    assert main(["import", str(path), "--all-read-all", "--output", str(study)]) == 0
    return readings_of(study)


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
    assert "1 readings with nothing else" in said
    assert ("1 readings are skipped, such as that of image 'case2' by reader 'A'" in said) == bool(rule)


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
    both = [annotation(1, "A", [OTHER]), annotation(2, "A", [])]
    path = tmp_path / "tasks.json"
    task = {"id": 1, "data": {"image": "x.png"}, "annotations": [both[first], both[1 - first]]}
    path.write_text(json.dumps([task]))
    with pytest.warns(UserWarning, match="1 readings with nothing else"):
        found = read_marks(path, mm_per_px=0.7)
    assert found.readings.empty
    assert found.left_out == {("x.png", "A")}


def test_a_task_that_was_skipped_is_not_nothing_found(study):
    def skip(tasks):
        tasks[2]["annotations"][0]["was_cancelled"] = True

    assert import_changed(study, skip) == EXPECTED - {("case3", "A")}


def test_what_was_drawn_and_cancelled_is_not_nothing_found(study):
    def cancel(tasks):
        tasks[0]["annotations"][0]["was_cancelled"] = True
        # A cancelled annotation beside a finished one says nothing.
        tasks[2]["annotations"].append(annotation(99, "A", [ELLIPSE], cancelled=True))

    assert import_changed(study, cancel) == EXPECTED - {("case1", "A")}


@pytest.mark.parametrize("rule", [[], ["--all-read-all"]])
@pytest.mark.parametrize("write", [cvat, via, label_studio])
def test_a_reading_that_keeps_only_shapes_that_are_not_read_stays_out(tmp_path, capsys, write, rule):
    study = tmp_path / "out"
    arguments = [*write(tmp_path, TWO_LABELS), "--mm-per-px", "0.7", "--label", "Nodule", *rule]
    assert main(["import", *arguments, "--output", str(study)]) == 0
    assert readings_of(study) == {("case2", "A"), ("case3", "A")}
    assert read_folder(study).marks["image_id"].tolist() == ["case3"]
    assert "skipped 1 readings that have shapes that are not imported" in capsys.readouterr().err


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
    def leave_draft(tasks):
        del tasks[2]["annotations"][0]
        tasks[2]["drafts"] = [draft]
        # A draft beside a submitted annotation of its member says nothing.
        tasks[0]["drafts"] = [draft]

    assert import_changed(study, leave_draft) == EXPECTED - {("case3", "A")}
    assert "2 drafts" in capsys.readouterr().err

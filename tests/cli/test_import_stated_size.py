"""The size of the image that a file states is compared with the image; marks of a scaled copy are scaled.

The image has 500 x 610 px of 0.7 mm. A mark is given by its place as a share of the image's sides, so that its mm
follow from the image alone, whatever the copy's size.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from overread.cli import main
from overread.marks import read_folder

SIZE = (500, 610)
MM = 0.7
CENTRE, RADII = (0.5, 0.3), (0.04, 0.02)
EXPECTED = [CENTRE[0] * 500 * MM, CENTRE[1] * 610 * MM, RADII[0] * 500 * MM, RADII[1] * 610 * MM]
PERCENT = dict(
    zip(("x", "y", "radiusX", "radiusY"), [100 * share for share in (*CENTRE, *RADII)], strict=True)
)
Size = tuple[float, float]


@pytest.fixture
def study(study_of_images):
    return study_of_images(2)


def import_into(study: Path, *arguments: str) -> int:
    return main(["import", *arguments, "--all-read-all", "--output", str(study)])


def in_px(size: Size) -> tuple[float, float, float, float]:
    """Centre and semi-axes of the mark in pixels of a picture of some size."""
    return CENTRE[0] * size[0], CENTRE[1] * size[1], RADII[0] * size[0], RADII[1] * size[1]


def box(size: Size) -> tuple[float, float, float, float]:
    x, y, a, b = in_px(size)
    return x - a, y - b, x + a, y + b


def label_studio(folder: Path, size: Size) -> list[str]:
    region = {
        "id": "m",
        "type": "ellipselabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": size[0],
        "original_height": size[1],
        "image_rotation": 0,
        "value": PERCENT | {"rotation": 0, "ellipselabels": ["Nodule"]},
    }
    task = {
        "id": 1,
        "data": {"image": "case1.png"},
        "annotations": [{"id": 1, "completed_by": 3, "was_cancelled": False, "result": [region]}],
    }
    (folder / "tasks.json").write_text(json.dumps([task]))
    return [str(folder / "tasks.json")]


def json_min(folder: Path, size: Size) -> list[str]:
    region = PERCENT | {"original_width": size[0], "original_height": size[1]}
    record = {"image": "case1.png", "annotation_id": 1, "annotator": 3, "label": [region]}
    (folder / "min.json").write_text(json.dumps([record]))
    return [str(folder / "min.json"), "--format", "label-studio", "--not-rotated"]


def coco(folder: Path, size: Size) -> list[str]:
    left, top, right, bottom = box(size)
    file = {
        "images": [{"id": 1, "file_name": "case1.png", "width": size[0], "height": size[1]}],
        "annotations": [{"id": 1, "image_id": 1, "bbox": [left, top, right - left, bottom - top]}],
        "categories": [],
    }
    (folder / "coco.json").write_text(json.dumps(file))
    return ["--reader", f"A={folder / 'coco.json'}"]


def cvat(folder: Path, size: Size) -> list[str]:
    x, y, a, b = in_px(size)
    (folder / "cvat.xml").write_text(
        f'<annotations><image id="0" name="case1.png" width="{size[0]}" height="{size[1]}">'
        f'<ellipse label="n" cx="{x}" cy="{y}" rx="{a}" ry="{b}"/></image></annotations>'
    )
    return ["--reader", f"A={folder / 'cvat.xml'}"]


def voc(folder: Path, size: Size) -> list[str]:
    left, top, right, bottom = box(size)
    (folder / "voc.xml").write_text(
        f"<annotation><filename>case1.png</filename><size><width>{size[0]}</width><height>{size[1]}</height></size>"
        f"<object><name>n</name><bndbox><xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax>"
        f"<ymax>{bottom}</ymax></bndbox></object></annotation>"
    )
    return ["--reader", f"A={folder / 'voc.xml'}"]


def sheet(folder: Path, size: Size, unit: str = "px") -> list[str]:
    lengths = in_px(size) if unit == "px" else [100 * share for share in (*CENTRE, *RADII)]
    cells = ",".join(f"{length:.6f}" for length in lengths)
    (folder / "sheet.csv").write_text(
        f"image,reader,x,y,rx,ry,image_width,image_height\ncase1.png,A,{cells},{size[0]},{size[1]}\n"
    )
    return [str(folder / "sheet.csv"), "--unit", unit, "--yes"]


def sheet_in_percent(folder: Path, size: Size) -> list[str]:
    return sheet(folder, size, "percent")


FORMATS = [label_studio, json_min, coco, cvat, voc, sheet, sheet_in_percent]


def every_format(*sizes: Size) -> pytest.MarkDecorator:
    """Each format with the first size, one of them with every size; the other pairs are slow together."""
    pairs = [(write, size) for write in FORMATS for size in sizes]
    daily = [write is cvat or size == sizes[0] for write, size in pairs]
    return pytest.mark.parametrize(
        ("write", "size"),
        [
            pytest.param(*pair, marks=() if often else pytest.mark.slow, id=f"{pair[0].__name__}-{pair[1]}")
            for pair, often in zip(pairs, daily, strict=True)
        ],
    )


@every_format((250, 305), (500, 610), (1000, 1220), (333, 406))
def test_marks_of_a_scaled_copy_are_scaled_to_the_image_and_that_is_said_once(study, capsys, write, size):
    assert import_into(study, *write(study.parent, size)) == 0
    mark = read_folder(study).marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()
    assert mark[0] == pytest.approx(EXPECTED, rel=1e-6)
    said = capsys.readouterr().err
    assert said.count("1 marks on 1 images were drawn on copies") == (size != SIZE)
    assert (f"from {size[0]} x {size[1]} to 500 x 610 px" in said) == (size != SIZE)


@every_format((610, 500), (250, 400))
def test_a_size_that_is_no_scaled_copy_is_refused_by_name(study, capsys, write, size):
    assert import_into(study, *write(study.parent, size)) == 4
    said = capsys.readouterr().err
    assert "'case1" in said
    assert f"has 500 x 610 px, but the file states {size[0]} x {size[1]}" in said
    assert not (study / "marks.csv").exists()


def test_a_size_of_zero_is_not_stated(study):
    arguments = voc(study.parent, SIZE)
    path = study.parent / "voc.xml"
    path.write_text(path.read_text().replace("<width>500", "<width>0").replace("<height>610", "<height>0"))
    assert import_into(study, *arguments) == 0
    assert read_folder(study).marks["x_mm"].tolist() == pytest.approx(EXPECTED[:1])


def write_points(path: Path, factor: float, count: int = 40) -> list[str]:
    """Marks all over both images, in pixels of copies that are ``factor`` times as large, in a file without sizes."""
    rows = ["image,reader,x,y,diameter"]
    for number in range(count):
        x, y = 5 + 490 * number / (count - 1), 5 + 600 * (number * 7 % count) / (count - 1)
        rows.append(f"case{number % 2 + 1},A,{x * factor:.4f},{y * factor:.4f},{20 * factor:.4f}")
    path.write_text("\n".join(rows) + "\n")
    return [str(path), "--unit", "px", "--yes"]


@pytest.mark.parametrize(("factor", "scale"), [(3, "1/3"), (2, "1/2"), (1.5, "2/3"), (4, "1/4")])
def test_marks_in_pixels_of_larger_copies_are_refused_with_the_likely_scale(study, capsys, factor, scale):
    arguments = write_points(study.parent / "m.csv", factor)
    assert import_into(study, *arguments) == 4
    said = capsys.readouterr().err
    assert f"--scale {scale} brings all of them inside" in said
    assert "overread check" not in said
    assert not (study / "marks.csv").exists()
    assert import_into(study, *arguments, "--scale", scale) == 0
    marks = read_folder(study).marks
    assert marks["x_mm"].min() == pytest.approx(5 * MM, abs=1e-3)
    assert marks["x_mm"].max() == pytest.approx(495 * MM, abs=1e-3)
    assert marks["semi_major_mm"].to_numpy() == pytest.approx(10 * MM, abs=1e-3)


def test_scale_works_for_every_format_in_pixels_and_is_refused_where_lengths_are_none(study, capsys):
    for write in (cvat, coco, voc):
        folder = study.parent / write.__name__
        folder.mkdir()
        arguments = write(folder, (1000, 1220))
        file = Path(arguments[-1].partition("=")[2])
        unstated = {'width="1000" height="1220"': f'width="{SIZE[0]}" height="{SIZE[1]}"'}
        unstated |= {"<width>1000</width><height>1220</height>": "<width>0</width><height>0</height>"}
        unstated |= {', "width": 1000, "height": 1220': ""}
        for old, new in unstated.items():
            file.write_text(file.read_text().replace(old, new))
        assert import_into(study, *arguments, "--scale", "0.5", "--overwrite") == 0
        assert read_folder(study).marks["x_mm"].tolist() == pytest.approx(EXPECTED[:1])
    capsys.readouterr()
    for write, code in ((label_studio, 2), (sheet_in_percent, 4), (cvat, 4)):
        arguments = write(study.parent, (250, 305))
        assert import_into(study, *arguments, "--scale", "2", "--overwrite") == code
        assert "Remove --scale" in capsys.readouterr().err
    for text in ("0", "-1", "1/0", "half", "nan"):
        assert import_into(study, *cvat(study.parent, SIZE), "--scale", text) == 2


def test_marks_in_mm_beyond_their_images_are_not_taken_for_those_of_a_copy(study, capsys):
    """The refusal named --scale 1, which is refused for lengths in mm."""
    path = study.parent / "mm.csv"
    across = [100, 120, 450, 500, 525]
    path.write_text("image,reader,x_mm,y_mm,diameter_mm\n" + "".join(f"case1,A,{x},100,10\n" for x in across))
    assert import_into(study, str(path), "--yes") == 0
    said = capsys.readouterr().err
    assert "--scale" not in said
    assert "column x_mm: 450 is outside its image" in said
    assert pd.read_csv(study / "marks.csv")["x_mm"].tolist() == across


def test_marks_of_a_stated_copy_beyond_their_images_are_not_refused_with_a_scale(study, capsys):
    arguments = cvat(study.parent, (250, 305))
    path = study.parent / "cvat.xml"
    slips = "".join(f'<ellipse label="n" cx="{x}" cy="90" rx="9" ry="9"/>' for x in (360, 365, 370))
    path.write_text(path.read_text().replace("</image>", f"{slips}</image>"))
    assert import_into(study, *arguments) == 0
    assert "--scale" not in capsys.readouterr().err
    assert pd.read_csv(study / "marks.csv")["x_mm"].max() == pytest.approx(2 * 370 * MM)


def test_one_stray_mark_is_named_and_is_not_a_scale(study, capsys):
    """The refusal named --scale 1, and with that the mark was refused all the same."""
    arguments = write_points(study.parent / "m.csv", 1, count=10)
    path = study.parent / "m.csv"
    path.write_text(path.read_text() + "case1,A,1125,90,20\n")
    assert import_into(study, *arguments) == 4
    said = capsys.readouterr().err
    assert "row 12, column x_mm: 787.5 is outside its image by a whole image" in said
    assert "--scale" not in said


def test_a_point_keeps_its_radius_in_mm_on_a_copy(study):
    path = study.parent / "points.csv"
    path.write_text("image,reader,x,y,image_width,image_height\ncase1,A,125,91.5,250,305\n")
    options = ["--unit", "px", "--radius-mm", "5", "--yes"]
    assert import_into(study, str(path), *options) == 0
    mark = read_folder(study).marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()
    assert mark[0] == pytest.approx([*EXPECTED[:2], 5, 5])


def test_boxes_of_fractions_are_not_taken_for_pixels(study, capsys):
    arguments = coco(study.parent, (1.0, 1.0))
    path = study.parent / "coco.json"
    path.write_text(path.read_text().replace('"width": 1.0, "height": 1.0', '"width": 500, "height": 610'))
    assert import_into(study, *arguments) == 4
    assert "Are they fractions of its width and height?" in capsys.readouterr().err
    assert not (study / "marks.csv").exists()


@pytest.fixture
def folder_of_pngs(tmp_path):
    folder = tmp_path / "pngs"
    folder.mkdir()
    random = np.random.default_rng(7)
    for number in (1, 2):
        pixels = random.integers(0, 256, (SIZE[1], SIZE[0]), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"case{number}.png")
    return folder


@pytest.mark.parametrize(("write", "overwrite"), [(label_studio, False), (cvat, True), (sheet, False)])
def test_init_after_the_import_refuses_the_marks_of_a_scaled_copy(folder_of_pngs, capsys, write, overwrite):
    arguments = [*write(folder_of_pngs.parent, (250, 305)), "--mm-per-px", str(MM)]
    assert import_into(folder_of_pngs, *arguments) == 0
    before = {path.name: path.read_bytes() for path in folder_of_pngs.glob("*.csv")}
    init = ["init", str(folder_of_pngs), "--mm-per-px", str(MM), "--ids", "name", "--region", "all"]
    capsys.readouterr()
    assert main([*init, *(["--overwrite"] if overwrite else [])]) == 4
    said = capsys.readouterr().err
    assert "images.csv, row 2, column width_px: 250 x 305 px in the table, but 500 x 610 by case1.png" in said
    assert "on a copy at another scale" in said
    assert {path.name: path.read_bytes() for path in folder_of_pngs.glob("*.csv")} == before
    # The remedy that it names.
    for name in before:
        (folder_of_pngs / name).unlink()
    assert main(init) == 0
    assert import_into(folder_of_pngs, *arguments) == 0
    marks = read_folder(folder_of_pngs).marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()
    assert marks[0] == pytest.approx(EXPECTED, rel=1e-6)


def test_init_after_the_import_refuses_another_picture_and_takes_the_images_own(folder_of_pngs, capsys):
    init = ["init", str(folder_of_pngs), "--mm-per-px", str(MM), "--ids", "name", "--region", "all"]
    arguments = ["--mm-per-px", str(MM)]
    assert import_into(folder_of_pngs, *cvat(folder_of_pngs.parent, (610, 500)), *arguments) == 0
    assert main(init) == 4
    assert "on another picture" in capsys.readouterr().err
    for path in folder_of_pngs.glob("*.csv"):
        path.unlink()
    assert import_into(folder_of_pngs, *cvat(folder_of_pngs.parent, SIZE), *arguments) == 0
    assert main(init) == 0


def test_init_after_an_import_with_a_scale_takes_the_size_of_the_image(folder_of_pngs):
    arguments = [*cvat(folder_of_pngs.parent, (250, 305)), "--mm-per-px", str(MM), "--scale", "2"]
    assert import_into(folder_of_pngs, *arguments) == 0
    assert main(["init", str(folder_of_pngs), "--ids", "name", "--region", "all"]) == 0
    found = read_folder(folder_of_pngs)
    assert found.images[["width_px", "height_px"]].to_numpy().tolist() == [[500, 610]]
    mark = found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()
    assert mark[0] == pytest.approx(EXPECTED, rel=1e-6)

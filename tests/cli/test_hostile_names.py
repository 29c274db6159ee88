"""Names out of files, in every command that prints names: a terminal shows them, and obeys none."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.apps.node._spool import Ledger
from overread.images import write_dicom, write_png16
from overread.tables import write_table

HOSTILE = [
    "\x1b]0;PWNED\x07\x1b[2Ja\x9b31mb\u202ec\x08\x7f\u2066'; touch x; '",
    "[red]$(touch x)[/red] :smile:\nwrote /etc/passwd",
]
SPECIAL = "\x1b\x07\x08\r\n\t\x7f\x9b\u202e\u2066\u200f\u2028[]'\"$`;ab "


def marks_of(name: str) -> pd.DataFrame:
    """Table of two readers who marked two images, all named so."""
    rows = [
        {"image_id": f"{image}{name}", "reader_id": f"{reader}{name}", "mark_id": f"{number}{name}"}
        for number, (image, reader) in enumerate([("i", "A"), ("i", "B"), ("k", "A")])
    ]
    shape = {"x_mm": 10.0, "y_mm": 12.0, "semi_major_mm": 5.0, "semi_minor_mm": 4.0, "angle_deg": 0.0}
    return pd.DataFrame(rows).assign(**shape, label=f"l{name}")


def write_study(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    marks = marks_of(name)
    write_table(marks, folder / "marks.csv")
    write_table(marks[["image_id", "reader_id"]].drop_duplicates(), folder / "readings.csv")
    images = pd.DataFrame({"image_id": marks["image_id"].unique(), "patient_id": f"p{name}"})
    write_table(images.assign(path=f"none{name}.png", split="left"), folder / "images.csv")
    detections = marks.assign(radius_mm=5.0, score=0.5, candidate_id=marks["mark_id"])
    write_table(detections[["image_id", "x_mm", "y_mm", "score"]], folder / "detections.csv")
    return folder


def write_files(folder: Path, name: str) -> Path:
    """Folder of image files that cannot be used, or twice the same; names of files have no slash and no NUL."""
    folder.mkdir(parents=True)
    name = name.replace("/", "").replace("\0", "")
    pixels = np.random.default_rng(0).integers(0, 4000, (64, 64)).astype(np.uint16)
    for start in ("x", "y"):
        write_png16(folder / f"{start}{name}.png", pixels)
        write_dicom(folder / f"{start}{name}.dcm", pixels, 2.0, patient_id=f"P{start}", image_id=start)
    (folder / f"z{name}.png").write_bytes(b"no image")
    (folder / f"z{name}.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\0" * 100)
    return folder


def write_coco(folder: Path, name: str) -> Path:
    image = {"id": 1, "file_name": f"{name}.png", "width": 100, "height": 200}
    mark = {"id": 9, "image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "rad_id": name}
    content = {"images": [image], "categories": [{"id": 5, "name": name}], "annotations": [mark]}
    path = folder / "coco.json"
    path.write_text(json.dumps(content))
    return path


def write_spool(folder: Path, name: str) -> Path:
    folder.mkdir()
    ledger = Ledger(folder / "node.sqlite")
    ledger.receive(f"1{name}", f"2{name}", "digest", name)
    ledger.fail(f"1{name}", f"reason {name}")
    ledger.close()
    return folder


def commands(place: Path, name: str) -> list[list[str]]:
    """Commands on files of these names, right and wrong ones."""
    study, files = write_study(place / "study", name), write_files(place / "files", name)
    coco, spool = write_coco(place, name), write_spool(place / "spool", name)
    plain, out = name.replace("\0", ""), str(place / "out")
    detections, truth = str(study / "detections.csv"), str(study / "marks.csv")
    by = ["--reader-key", "rad_id", "--mm-per-px", "1", "--derive-readings"]
    given = [
        ["check", study],
        ["check", study, "--json"],
        ["readers", study],
        ["readers", study, "--json"],
        ["merge", study, "-o", f"{out}.csv"],
        ["merge", study, "--json"],
        ["merge", study, "--figure", f"{out}.png", "--image", plain],
        ["import", study / "marks.csv", "--output", f"{out}1"],
        ["import", coco, "--output", f"{out}2", *by],
        ["import", coco, "--output", f"{out}3", "--label", f"other{plain}", *by],
        ["export", study, "--output", f"{out}4", "--format", "label-studio"],
        ["export", study, "--output", f"{out}5", "--format", "gsps"],
        ["init", files, "--mm-per-px", "2"],
        ["init", files, "--overwrite", "--mm-per-px", "2", "--drop", plain],
        ["check", files],
        ["candidates", files, "-o", f"{out}.csv", "--json"],
        ["node", "--status", "--spool", spool],
        ["node", "--status", "--spool", spool, "--json"],
        ["froc", detections, truth, "--n-images", "2", "--n-bootstrap", "100"],
        ["compare", detections, detections, truth, "--n-images", "2"],
        ["run", study],
        ["show", files / "z.png", "-o", f"{out}6.png"],
        ["detect", study, files],
        ["explain", plain, files],
        ["plan", plain],
        ["features", "explain", plain],
        [plain],
        ["check", place / plain.replace("/", "")],
    ]
    return [[str(part) for part in command] for command in given]


def tell_unprintable(run, capfd, place: Path, name: str) -> dict[str, set[str]]:
    wrong = {}
    for command in commands(place, name):
        try:
            run(command)
        except BaseException as error:  # a bug of ours: what it says must be shown as harmless too
            wrong[" ".join(command)] = {repr(error)}
        told = capfd.readouterr()
        bad = {one for one in told.out + told.err if not one.isprintable() and one != "\n"}
        if "wrote /etc/passwd" in (told.out + told.err).split("\n"):
            bad.add("a feigned line")
        if bad:
            wrong[" ".join(command)] = bad
    return wrong


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_command_hands_on_what_steers_a_terminal(run, tmp_path, monkeypatch, capfd, number):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    assert tell_unprintable(run, capfd, tmp_path, HOSTILE[number]) == {}
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@given(st.text(st.sampled_from(SPECIAL), min_size=1, max_size=12))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_nor_any_other_name(run, tmp_path_factory, capfd, name):
    place = tmp_path_factory.mktemp("names")
    before = Path.cwd()
    os.chdir(place)
    try:
        assert tell_unprintable(run, capfd, place, name) == {}
    finally:
        os.chdir(before)


def test_a_bug_of_ours_is_told_without_steering(capfd):
    from overread.cli import print_bug

    try:
        raise ValueError("\x1b[2J of a file")
    except ValueError as error:
        print_bug(type(error), error, error.__traceback__)
    told = capfd.readouterr().err
    assert "\x1b" not in told
    assert "\\x1b[2J of a file" in told
    assert "please report" in told


def test_warnings_are_lines_of_their_own(run, tmp_path, capfd, monkeypatch):
    import warnings

    def warn(*_args, **_options):
        warnings.warn("odd \x1b value", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("overread.cli.app", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run([]) == 0
    assert capfd.readouterr().err == "overread: warning: odd \\x1b value\n"

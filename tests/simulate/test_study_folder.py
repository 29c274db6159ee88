from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydicom import dcmread

from overread.errors import InvalidInputError, LockedError
from overread.files import folder_lock
from overread.images import read_source, write_png16
from overread.simulate import CaseDistribution
from overread.simulate._backgrounds import background_files
from overread.simulate._cohort import write_study
from overread.simulate._recipes import FileRecipe
from overread.tables import check_study, read_table
from overread.truth import merge_marks
from progress_record import NotedProgress


@pytest.fixture(scope="module")
def backgrounds(tmp_path_factory) -> Path:
    """Three square pictures with two dark lungs."""
    folder = tmp_path_factory.mktemp("backgrounds")
    y, x = np.mgrid[:260, :300]
    lungs = np.minimum(((x - 80) / 45) ** 2, ((x - 220) / 45) ** 2) + ((y - 120) / 90) ** 2 < 1
    rows = ["file,patient,mm_per_px_x,mm_per_px_y"]
    for i in range(3):
        noise = np.random.default_rng(i).normal(0, 1500, lungs.shape)
        write_png16(
            folder / f"b{i}.png", np.clip(np.where(lungs, 15000, 42000) + noise, 0, 65535).astype(np.uint16)
        )
        rows.append(f"b{i}.png,p{i},1.2,1.1")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    return folder


def recipe(backgrounds: Path, n_images: int = 6, seed: int = 5) -> FileRecipe:
    return FileRecipe(
        tuple(background_files(backgrounds, backgrounds / "table.csv")),
        n_images,
        CaseDistribution(),
        seed,
        1.4,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def study(backgrounds, tmp_path_factory) -> Path:
    return write_study(recipe(backgrounds), tmp_path_factory.mktemp("study") / "s", format="png")


def test_the_tables_are_those_of_a_study(study):
    images, readings, marks = (
        read_table(study / f"{kind}.csv", kind) for kind in ("images", "readings", "marks")
    )
    assert check_study(marks, readings, images) == []
    assert images["patient_id"].tolist() == ["P00001", "P00002", "P00003"] * 2
    assert len(merge_marks(marks, readings)) > 0
    for path in images["path"]:
        assert read_source(study / path).stored.dtype == np.uint16


def test_what_is_known_fits_the_images(study):
    nodules = pd.read_csv(study / "known" / "nodules.csv")
    for image_id, rows in nodules.groupby("image_id"):
        mask = read_source(study / "known" / "masks" / f"{image_id}.png").stored
        assert set(np.unique(mask)) == set(range(len(rows) + 1))
    known = pd.read_csv(study / "known" / "marks.csv", dtype=str, na_filter=False)
    assert set(known["mark_id"]) == set(pd.read_csv(study / "marks.csv")["mark_id"])
    assert set(pd.read_csv(study / "known" / "backgrounds.csv")["background"]) == {
        "b0.png",
        "b1.png",
        "b2.png",
    }


def test_the_bytes_do_not_depend_on_the_workers(study, backgrounds, tmp_path):
    other = write_study(recipe(backgrounds), tmp_path / "other", format="png", workers=2)
    assert contents(other) == contents(study)


def test_a_finished_folder_is_left_alone(study, backgrounds):
    before = contents(study)
    with NotedProgress() as progress:
        write_study(recipe(backgrounds), study, format="png")
    assert progress.totals == {"simulating: images": 0}
    assert contents(study) == before


def test_settings_that_the_user_changed_stay(study, backgrounds):
    settings = study / "study.toml"
    before = settings.read_text()
    settings.write_text("seed = 7\n")
    write_study(recipe(backgrounds), study, format="png")
    assert settings.read_text() == "seed = 7\n"
    settings.write_text(before)


@pytest.mark.parametrize(
    "damage", ["half a line", "a broken line", "a changed image", "a lost image", "a cut mask"]
)
def test_a_broken_run_is_taken_up_where_it_was(study, backgrounds, tmp_path, damage):
    folder = write_study(recipe(backgrounds), tmp_path / "s", format="png")
    journal = folder / "known" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    fourth = json.loads(lines[4])["value"]
    (folder / "marks.csv").unlink()
    if damage == "half a line":
        journal.write_bytes(b"".join(lines[:4]) + lines[4][:50])
    elif damage == "a broken line":
        journal.write_bytes(b"".join([*lines[:4], lines[4].replace(b"marks", b"narks"), *lines[5:]]))
    elif damage == "a cut mask":
        mask = folder / "known" / "masks" / f"{fourth['image_id']}.png"
        mask.write_bytes(mask.read_bytes()[:-20])
    elif damage == "a changed image":
        (folder / fourth["path"]).write_bytes(b"spoilt")
    else:
        (folder / fourth["path"]).unlink()
    with NotedProgress() as progress:
        write_study(recipe(backgrounds), folder, format="png")
    assert progress.totals == progress.done == {"simulating: images": 3}
    assert contents(folder) == contents(study)


@pytest.mark.parametrize("change", [{"seed": 6}, {"n_images": 7}])
def test_a_folder_of_another_cohort_is_refused(study, backgrounds, change):
    before = contents(study)
    with pytest.raises(InvalidInputError, match="another seed or other settings"):
        write_study(recipe(backgrounds, **change), study, format="png")
    with pytest.raises(InvalidInputError, match="another seed or other settings"):
        write_study(recipe(backgrounds), study, format="dicom")
    assert contents(study) == before


def test_a_folder_with_something_else_is_refused(backgrounds, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="not empty"):
        write_study(recipe(backgrounds), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_two_runs_at_once_are_refused(study, backgrounds):
    with (
        folder_lock(study, "known/.lock", ""),
        pytest.raises(LockedError, match="another run is writing to it"),
    ):
        write_study(recipe(backgrounds), study, format="png")


def test_a_run_that_was_killed_before_its_first_file_goes_on(study, backgrounds, tmp_path):
    folder = tmp_path / "s"
    (folder / "known").mkdir(parents=True)
    (folder / "known" / ".overread-abc.part").write_bytes(b"half")
    write_study(recipe(backgrounds), folder, format="png")
    (folder / "known" / ".overread-abc.part").unlink()
    assert contents(folder) == contents(study)


def test_processes_run_no_code_of_the_current_folder(backgrounds, trap):
    folder = write_study(recipe(backgrounds, n_images=2), trap / "s", format="png", workers=2)
    assert not (trap / "PWNED").exists()
    assert (folder / "marks.csv").is_file()


@pytest.mark.parametrize("wrong", [{"format": "bmp"}, {"workers": 0}])
def test_senseless_orders_are_refused(backgrounds, tmp_path, wrong):
    with pytest.raises(InvalidInputError):
        write_study(recipe(backgrounds), tmp_path / "s", **wrong)


KILLED = """
import sys
from tests.simulate.test_study_folder import recipe
from pathlib import Path
from overread.simulate._cohort import write_study
write_study(recipe(Path(sys.argv[1])), sys.argv[2], format="png")
"""


def test_a_killed_run_goes_on_to_the_same_bytes(study, backgrounds, tmp_path):
    folder = tmp_path / "s"
    source = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([source, f"{source}/src"])}
    running = subprocess.Popen([sys.executable, "-c", KILLED, str(backgrounds), str(folder)], env=env)
    journal = folder / "known" / "journal.jsonl"
    while running.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    write_study(recipe(backgrounds), folder, format="png")
    left = {name for name in contents(folder) if ".overread-" in name}
    assert {k: v for k, v in contents(folder).items() if k not in left} == contents(study)


def test_patients_of_real_backgrounds_become_codes(backgrounds, tmp_path):
    rows = ["b0.png,Doe", "b1.png,Roe", "b2.png,Doe", "b0.png,", "b1.png,"]
    (tmp_path / "table.csv").write_text("\n".join(["file,patient", *rows]) + "\n")
    files = background_files(backgrounds, tmp_path / "table.csv")
    assert [file.patient_id for file in files] == ["P00001", "P00002", "P00001", "P00003", "P00004"]
    written = write_study(recipe(backgrounds, n_images=1), tmp_path / "s", format="dicom")
    header = dcmread(written / "images" / "case00001.dcm")
    assert header.PatientID == "P00001"
    assert "PatientIdentityRemoved" not in header
    assert "p0" not in (written / "known" / "simulation.json").read_text()

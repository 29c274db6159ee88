"""Cohorts as study folders: files, tables from the journal, taken up where a run stopped."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydicom import dcmread

from overread.errors import InvalidInputError, LockedError, TableError, UsageError
from overread.files import Journal, folder_lock
from overread.images import read_image, read_source, write_png16
from overread.simulate import (
    CHEST_LAYOUT,
    KINDS,
    CaseDistribution,
    NoduleDistribution,
    PictureDistribution,
    benchmark,
    cohort,
    picture_cohort,
)
from overread.simulate._backgrounds import background_files
from overread.simulate._cases import draw_case
from overread.simulate._cohort import write_study
from overread.simulate._laws import PAPER_LAW
from overread.simulate._recipes import ChestRecipe
from overread.simulate._tables import (
    nodule_rows,
    nodules_by_image,
    write_tables,
)
from overread.tables import check_study, read_cells, read_table
from overread.truth import merge_marks
from progress_record import NotedProgress

GRID = 1.4


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return cohort(tmp_path_factory.mktemp("cohort") / "s", n_images=3, seed=1, grid_mm=GRID)


def test_dicom_passes_dciodvfy_and_reads_back(study):
    recipe = ChestRecipe(3, PAPER_LAW, 1, GRID)
    if shutil.which("dciodvfy") is None:
        pytest.skip("dciodvfy is not installed (Debian: dicom3tools)")
    for number, path in enumerate(pd.read_csv(study / "images.csv")["path"]):
        checked = subprocess.run(["dciodvfy", str(study / path)], capture_output=True, text=True, check=False)
        assert "Error" not in checked.stdout + checked.stderr
        made = recipe.make(number)
        assert np.array_equal(read_source(study / path).stored, made.pixels)
        radiograph = read_image(study / path, grid_mm=GRID)
        assert radiograph.source_mm_per_px == (GRID, GRID)


OPTIONS = {"benchmark", "nodules", "backgrounds", "images_csv", "grid_mm", "format"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_takes_what_it_offers_and_refuses_the_rest(kind):
    offer = KINDS[kind]
    taken = set(inspect.signature(offer.write).parameters)
    assert {"n_images", "n_readers", "seed", "workers", *offer.demo_options} <= taken
    assert taken & OPTIONS == OPTIONS - set(offer.without) - {"benchmark"}
    assert bool(offer.without) == bool(offer.reason)
    assert (offer.mm_per_px is None) == (offer.layout.unit == "px")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_writes_its_layout(kind, tmp_path):
    offer = KINDS[kind]
    folder = offer.write(tmp_path / kind, n_images=1, seed=3, workers=1, **offer.demo_options)
    assert all((folder / table.path).is_file() for table in offer.layout.tables)
    assert (folder / "study.toml").read_text(encoding="utf-8") == offer.layout.settings
    images = pd.read_csv(folder / "images.csv")
    if offer.mm_per_px is not None:
        assert images["mm_per_px_x"].tolist() == [offer.mm_per_px]


def test_orders_without_meaning_are_refused(tmp_path):
    for write in (cohort, picture_cohort):
        for wrong in ({"n_images": 0}, {"n_images": 1, "seed": -1}):
            with pytest.raises(InvalidInputError, match="n_images >= 1"):
                write(tmp_path / "s", **wrong)
    for wrong in ({"format": "bmp"}, {"workers": 0}):
        with pytest.raises(InvalidInputError, match="the format dicom or png, and at least one worker"):
            cohort(tmp_path / "s", n_images=1, **wrong)
    with pytest.raises(UsageError, match="plain or varied"):
        cohort(tmp_path / "s", n_images=1, nodules="faint")
    with pytest.raises(UsageError, match="folder of backgrounds"):
        cohort(tmp_path / "s", n_images=1, images_csv=tmp_path / "t.csv")
    with pytest.raises(UsageError, match="either a law, or n_readers"):
        cohort(tmp_path / "s", n_images=1, n_readers=3, law=PAPER_LAW)
    with pytest.raises(UsageError, match="either a law, or n_readers"):
        picture_cohort(tmp_path / "s", n_images=1, n_readers=3, law=PictureDistribution())
    with pytest.raises(UsageError, match="nih-240x3"):
        benchmark("best-ever", tmp_path / "s")
    with pytest.raises(UsageError, match="spacings"):
        benchmark("nih-240x3", tmp_path / "s")
    assert not (tmp_path / "s").exists()


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


def recipe(backgrounds: Path, n_images: int = 6, seed: int = 5) -> ChestRecipe:
    files = tuple(background_files(backgrounds, backgrounds / "table.csv"))
    return ChestRecipe(n_images, CaseDistribution(), seed, 1.4, files)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def file_study(backgrounds, tmp_path_factory) -> Path:
    return write_study(recipe(backgrounds), tmp_path_factory.mktemp("study") / "s", format="png")


@pytest.fixture
def copied(file_study, tmp_path) -> Path:
    return Path(shutil.copytree(file_study, tmp_path / "s"))


def test_the_tables_are_those_of_a_study(file_study):
    images, readings, marks = (
        read_table(file_study / f"{kind}.csv", kind) for kind in ("images", "readings", "marks")
    )
    assert check_study(marks, readings, images) == []
    assert images["patient_id"].tolist() == ["P00001", "P00002", "P00003"] * 2
    assert len(merge_marks(marks, readings)) > 0
    for path in images["path"]:
        assert read_source(file_study / path).stored.dtype == np.uint16


def test_what_is_known_fits_the_images(file_study):
    nodules = pd.read_csv(file_study / "known" / "nodules.csv")
    for image_id, rows in nodules.groupby("image_id"):
        mask = read_source(file_study / "known" / "masks" / f"{image_id}.png").stored
        assert set(np.unique(mask)) == set(range(len(rows) + 1))
    known = pd.read_csv(file_study / "known" / "marks.csv", dtype=str, na_filter=False)
    assert set(known["mark_id"]) == set(pd.read_csv(file_study / "marks.csv")["mark_id"])
    names = pd.read_csv(file_study / "known" / "backgrounds.csv")["background"]
    assert set(names) == {"b0.png", "b1.png", "b2.png"}


def test_processes_give_the_same_bytes_and_run_no_code_of_the_current_folder(file_study, backgrounds, trap):
    other = write_study(recipe(backgrounds), trap / "s", format="png", workers=2)
    assert contents(other) == contents(file_study)
    assert not (trap / "PWNED").exists()


def test_a_finished_folder_is_left_alone_with_the_settings_that_the_user_changed(copied, backgrounds):
    (copied / "study.toml").write_text("seed = 7\n")
    before = contents(copied)
    with NotedProgress() as progress:
        write_study(recipe(backgrounds), copied, format="png")
    assert progress.totals == {"simulating: images": 0}
    assert contents(copied) == before


@pytest.mark.parametrize(
    "damage", ["half a line", "a broken line", "a changed image", "a lost image", "a cut mask"]
)
def test_a_broken_run_is_taken_up_where_it_was(file_study, copied, backgrounds, damage):
    folder = copied
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
    assert contents(folder) == contents(file_study)


@pytest.mark.parametrize("change", [{"seed": 6}, {"n_images": 7}])
def test_a_folder_of_another_cohort_is_refused(file_study, backgrounds, change):
    before = contents(file_study)
    with pytest.raises(InvalidInputError, match="another seed or other settings"):
        write_study(recipe(backgrounds, **change), file_study, format="png")
    with pytest.raises(InvalidInputError, match="another seed or other settings"):
        write_study(recipe(backgrounds), file_study, format="dicom")
    assert contents(file_study) == before


def test_a_folder_with_something_else_is_refused(backgrounds, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="not empty"):
        write_study(recipe(backgrounds), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_two_runs_at_once_are_refused(file_study, backgrounds):
    with (
        folder_lock(file_study, "known/.lock", ""),
        pytest.raises(LockedError, match="another run is writing to it"),
    ):
        write_study(recipe(backgrounds), file_study, format="png")


def test_a_run_that_was_killed_before_its_first_file_goes_on(file_study, backgrounds, tmp_path):
    folder = tmp_path / "s"
    (folder / "known").mkdir(parents=True)
    (folder / "known" / ".overread-abc.part").write_bytes(b"half")
    write_study(recipe(backgrounds), folder, format="png")
    (folder / "known" / ".overread-abc.part").unlink()
    assert contents(folder) == contents(file_study)


KILLED = """
import sys
from tests.simulate.test_cohort import recipe
from pathlib import Path
from overread.simulate._cohort import write_study
write_study(recipe(Path(sys.argv[1])), sys.argv[2], format="png")
"""


def test_a_killed_run_goes_on_to_the_same_bytes(file_study, backgrounds, tmp_path):
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
    whole = {name: content for name, content in contents(folder).items() if ".overread-" not in name}
    assert whole == contents(file_study)


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


ELLIPSE = {"x_mm": 0.1 + 0.2, "y_mm": 1e-9, "semi_major_mm": 3.0, "semi_minor_mm": 2.0, "angle_deg": 0.0}


@pytest.fixture
def journal(tmp_path) -> Journal:
    (tmp_path / "known").mkdir()
    made = Journal(tmp_path / "journal.jsonl")
    with made:
        for number, name in enumerate(("=1+1", "b, c")):
            marks = [
                {"image_id": name, "reader_id": "R1", "mark_id": f"m{k}", "object_id": "", **ELLIPSE}
                for k in range(number)
            ]
            entry = {
                "image_id": name,
                "patient_id": "P1",
                "background": "x.png",
                "path": f"images/{number}.png",
                "mm_per_px": 0.7,
                "nodules": [],
                "distractors": [],
                "readings": [{"image_id": name, "reader_id": "R1"}],
                "marks": marks,
            }
            made.add(name, entry)
    return made


def test_tables_have_their_columns_also_without_rows_and_exact_numbers_and_guarded_text(tmp_path, journal):
    write_tables(tmp_path, journal, CHEST_LAYOUT)
    for table in CHEST_LAYOUT.tables:
        assert tuple(pd.read_csv(tmp_path / table.path).columns) == table.columns
    assert not list(tmp_path.rglob("*.part"))
    marks = read_cells(tmp_path / "marks.csv")
    assert {name: float(marks.column(name)[0]) for name in ELLIPSE} == ELLIPSE
    images = pd.read_csv(tmp_path / "images.csv")
    assert images["image_id"].tolist() == ["'=1+1", "b, c"]
    assert images["mm_per_px_x"].tolist() == images["mm_per_px_y"].tolist() == [0.7, 0.7]


def test_nodules_survive_their_table(background, tmp_path):
    law = CaseDistribution(nodules=NoduleDistribution(spiculated=0.5, with_spicules=0.5))
    cases = {
        f"i{s}": draw_case(background, ["R1"], law, np.random.default_rng(s), n_nodules=2) for s in range(8)
    }
    table = pd.DataFrame([row for name, case in cases.items() for row in nodule_rows(name, case.nodules)])
    table.to_csv(tmp_path / "nodules.csv", index=False)
    again = nodules_by_image(pd.read_csv(tmp_path / "nodules.csv", dtype={"image_id": str}))
    assert {name: tuple(nodules) for name, nodules in again.items()} == {
        n: c.nodules for n, c in cases.items()
    }


def test_a_damaged_row_is_named(background):
    case = draw_case(background, ["R1"], CaseDistribution(), np.random.default_rng(0), n_nodules=1)
    table = pd.DataFrame(nodule_rows("i7", case.nodules)).assign(harmonics="2:x:1")
    with pytest.raises(TableError, match="N1 of image i7"):
        nodules_by_image(table)

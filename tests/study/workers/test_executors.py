"""Serial, local processes and a Dask cluster give the same bytes; bad images cost themselves and nothing else."""

import json
import os
import shutil
from pathlib import Path

import pytest

from overread._commands import WITH_BAD_IMAGES
from overread.cli import main
from overread.errors import StorageError
from overread.report import read_results
from overread.study import PipelineSpec, WorkLimits, count_processors, run_study
from overread.study.executors._executors import ProcessExecutor, SerialExecutor
from study_chain import PAGE, leave_out, tasks
from study_stand_in import LIGHT, make_study, spec
from study_trees import content, same


def test_a_worker_that_dies_hangs_or_starves(fresh_numbers: Path) -> None:
    limits = WorkLimits(seconds_per_image=2.0, memory_mb=2000)
    bad = {"kill": ["case 001"], "hang": ["case 002"], "exhaust": ["case 003"]}
    executor = ProcessExecutor(spec(**bad), limits, 2)
    try:
        outcomes = {outcome.image_id: outcome for outcome in executor.work(tasks(fresh_numbers))}
    finally:
        executor.close()
    faults = {name: one.fault for name, one in outcomes.items() if one.fault}
    assert {name: fault.kind for name, fault in faults.items()} == {
        "case 001": "death",
        "case 002": "timeout",
        "case 003": "memory",
    }
    assert "SIGKILL" in faults["case 001"].reason
    assert "2 s" in faults["case 002"].reason
    serial = {one.image_id: one.shard for one in SerialExecutor(spec()).work(tasks(fresh_numbers))}
    for name, outcome in outcomes.items():
        if outcome.shard is not None:
            assert outcome.shard == serial[name]


def poisoned(folder: Path, n_images: int, poison: list[int]) -> Path:
    """Write a study some of whose files are no images."""
    make_study(folder, n_images=n_images, settings=LIGHT)
    kinds = [
        b"",
        b"\x89PNG\r\n\x1a\n" + b"\0" * 30,
        b"not an image",
        (folder / "images/000.png").read_bytes()[:200],
    ]
    for place, number in enumerate(poison):
        path = folder / f"images/{number:03d}.png"
        if place == len(kinds):
            path.unlink()
        else:
            path.write_bytes(kinds[place])
    return folder


@pytest.mark.parametrize(
    ("n_images", "poison", "executor"),
    [
        (40, [2, 9, 17, 25, 33], "serial"),
        pytest.param(200, [3, 50, 101, 150, 199], "processes", marks=pytest.mark.slow),
    ],
)
def test_poison_images_are_quarantined_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_images: int, poison: list[int], executor: str
) -> None:
    """Run the command, twice: the second finds everything done, and has as much to complain of."""
    study = poisoned(tmp_path / "study", n_images, poison)
    monkeypatch.setattr(PipelineSpec, "own", staticmethod(lambda settings: spec()))
    leave_out(monkeypatch, PAGE)
    command = ["run", str(study), "--quiet", "--executor", executor, "--workers", "2"]
    assert main(command) == WITH_BAD_IMAGES
    run = study / "runs/main"
    results = read_results(run / "results.json")
    assert [one.image_id for one in results.study.quarantined] == [f"case {number:03d}" for number in poison]
    assert all(one.kind == "image" and ".png" not in one.reason for one in results.study.quarantined)
    assert sum(part.n_images for part in results.study.splits) == results.study.n_images - len(poison)
    before = content(run)
    assert main(command) == WITH_BAD_IMAGES
    assert content(run) == before


@pytest.mark.slow
def test_a_fault_of_the_machine_gets_another_chance(
    fresh_numbers: Path, light_numbers_original: Path
) -> None:
    processes = {"executor": "processes", "workers": 2}
    report = run_study(fresh_numbers, pipeline=spec(kill=["case 007"]), execution=processes)
    assert report.n_quarantined == 1
    manifest = json.loads((report.folder / "manifest.json").read_text())
    entry = next(one for one in manifest["images"] if one["image_id"] == "case 007")
    assert entry["fault_kind"] == "death"
    assert run_study(fresh_numbers, pipeline=spec()).n_quarantined == 0
    assert same(report.folder, light_numbers_original / "runs/main")


def test_the_command_says_what_was_quarantined(
    light_numbers: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PipelineSpec, "own", staticmethod(lambda settings: spec()))
    (light_numbers / "images/003.png").write_bytes(b"nothing")
    assert main(["run", str(light_numbers), "--quiet"]) == 3
    said = capsys.readouterr().out
    assert "case 003: the image: is not an image" in said
    assert "Soft" in said
    assert main(["run", str(light_numbers), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["study"]["n_images"] == 36


def test_no_space_and_no_scheduler_have_their_exit_codes(
    fresh_numbers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    shutil.rmtree(fresh_numbers / "runs", ignore_errors=True)
    (fresh_numbers / "runs").write_text("")
    assert main(["run", str(fresh_numbers)]) == StorageError.exit_code
    assert "Traceback" not in capsys.readouterr().err


def test_processors_are_counted_where_the_system_knows_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_processors() == os.cpu_count()

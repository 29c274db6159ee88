"""What surrounds the stages of a run: options of the call, the run's name, versions, and what is written down."""

import json
import os
import re
from pathlib import Path

import pytest

from overread.errors import InvalidInputError, StorageError, UsageError
from overread.study import Soft, find_study_candidates, open_run, parse_settings, run_study
from overread.study import _run as run
from overread.study._run import MemoryNeed, RunLog, _merge_execution
from overread.study._settings import Execution
from overread.study.models.b1 import B1
from study_chain import PAGE, leave_out
from study_stand_in import spec


def test_options_of_the_call_take_the_place_of_the_study_s() -> None:
    own = parse_settings({"execution": {"executor": "serial", "batch": 3}})
    merged = _merge_execution(own, {"workers": 2}).execution
    assert merged == Execution(executor="serial", batch=3, workers=2)
    with pytest.raises(UsageError, match=r"--workers 0"):
        _merge_execution(own, {"workers": 0})


def test_a_run_writes_down_what_it_did(light_numbers: Path) -> None:
    record = json.loads((light_numbers / "runs/main/provenance.json").read_text())
    assert record["stages_done"][:2] == ["truth", "split"]
    assert "numpy" in record["libraries"]
    assert set(record["seconds"]) == {*record["stages_done"], *record["stages_still_valid"]}
    log = (light_numbers / "runs/main/run.log").read_text()
    assert "truth: done" in log
    assert "run ends: 0 of 36 images skipped" in log


@pytest.mark.parametrize(
    "name", ["lock", "run.log", "manifest.journal", "file_digests.json", "settings.json", "manifest.json"]
)
def test_a_link_that_a_stranger_put_into_the_run_is_not_written_through(
    fresh_numbers: Path, tmp_path: Path, name: str
) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    folder = fresh_numbers / "runs" / "main"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(precious)
    with pytest.raises(StorageError, match=name.replace(".", r"\.")):
        run_study(fresh_numbers, pipeline=spec())
    assert precious.read_text() == "mine"


class TestMemory:
    NEED = MemoryNeed(whole=32_000, least=2_930)

    def test_it_is_what_candidates_and_two_copies_of_features_take(self) -> None:
        small, wide, wider = (MemoryNeed.estimate(100_000, n, fitted=0.5) for n in (50, 1050, 2050))
        assert wide.whole - small.whole == pytest.approx(2 * 0.5 * 100_000 * 1000 * 4 / 1e6)
        assert small.least < wide.least == wider.least < wide.whole

    @pytest.mark.parametrize(("n_images", "peak"), [(4_000, 554), (20_000, 888)])
    def test_it_is_near_what_was_measured(self, n_images: int, peak: float) -> None:
        """Peaks of the studies of benchmarks/study_memory.py that the constants come from."""
        assert MemoryNeed.estimate(20 * n_images, 50, fitted=2 / 3).whole == pytest.approx(peak, rel=0.05)

    @pytest.mark.parametrize(
        ("bound", "machine", "told"),
        [
            (None, 1e6, None),
            (3_000, 8_000, None),
            (
                None,
                8_000,
                "this machine has 8.0 GB of memory: set memory_mb under [execution] in study.toml to 3000",
            ),
            (1_000, 1e6, "memory_mb = 1000 is probably too low: set memory_mb under [execution]"),
            (
                None,
                2_000,
                "this machine has 2.0 GB of memory, too little even with features on disk: take fewer",
            ),
        ],
    )
    def test_what_to_change_is_told_before_the_run(
        self, bound: float | None, machine: float, told: str | None
    ) -> None:
        found = self.NEED.warn(bound, machine)
        assert (found is None) if told is None else (found or "").startswith(told)

    def test_the_bound_that_is_named_is_not_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="memory_mb = 2000 is too little") as refused:
            self.NEED.refuse(2000)
        (bound,) = re.findall(r"set it to (\d+) or more", str(refused.value))
        self.NEED.refuse(float(bound))

    def test_a_run_says_it_once(self, fresh_numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[str] = []
        monkeypatch.setattr(run, "say", told.append)
        monkeypatch.setattr(run, "machine_bytes", lambda: 1e8)
        find_study_candidates(fresh_numbers, pipeline=spec(), execution={"executor": "serial"})
        assert len([line for line in told if "this machine has 0.1 GB" in line]) == 1


class TestAModelWhoseFitFails:
    @pytest.fixture
    def failing(self, numbers: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def fail(self: B1, *given: object) -> None:
            raise InvalidInputError("no such luck")

        monkeypatch.setattr(B1, "fit_grid", fail)
        for file in (numbers / "runs/main/stages").glob("fold_2_b1.json"):
            file.unlink()
        return numbers

    def test_the_others_go_on_and_the_results_say_so(self, failing: Path) -> None:
        report = run_study(failing, pipeline=spec())
        assert "fold_2_b1" not in report.done
        assert {"supported", "scores", "results"} <= {*report.done}
        results = open_run(report.folder).results
        assert [model.name for model in results.models] == ["soft", "b2"]
        assert results.skipped_models == {"B1": "no such luck"}
        assert "b1 failed and is left out: no such luck" in (report.folder / "run.log").read_text()
        assert {path.stem for path in (report.folder / "models").iterdir()} == {"soft", "b2"}

    def test_it_is_tried_again(self, failing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run_study(failing, pipeline=spec())
        assert "results" not in run_study(failing, pipeline=spec()).done
        monkeypatch.undo()
        leave_out(monkeypatch, PAGE)
        report = run_study(failing, pipeline=spec())
        assert {"fold_2_b1", "results"} <= {*report.done}
        assert open_run(report.folder).results.skipped_models == {}

    def test_the_last_one_ends_the_run(self, fresh_numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: Soft, *given: object) -> None:
            raise InvalidInputError("no such luck")

        monkeypatch.setattr(Soft, "try_settings", fail)
        with pytest.raises(ValueError, match="no such luck"):
            run_study(fresh_numbers, pipeline=spec())


def test_lines_are_appended_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for text in ("first", "second\nand\tmore   words"):
        with RunLog(path) as log:
            log.write(text)
    lines = path.read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["first", "second and more words"]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 ", line) for line in lines)


def test_any_text_can_be_written(tmp_path: Path) -> None:
    with RunLog(tmp_path / "run.log") as log:
        log.write("half a pair \ud800, ü")
    assert (tmp_path / "run.log").read_text(encoding="utf-8").endswith("half a pair \\ud800, ü\n")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not written"), RunLog(tmp_path / "absent" / "run.log"):
        pass


def test_a_full_disk_does_not_stop_a_run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with RunLog(tmp_path / "run.log") as log:
        monkeypatch.setattr(os, "write", full)
        log.write("lost")
        monkeypatch.undo()
        log.write("kept")
    assert "lost" not in (tmp_path / "run.log").read_text()
    assert "kept" in (tmp_path / "run.log").read_text()

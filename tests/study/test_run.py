"""What surrounds the stages of a run: options of the call, the run's name, versions, and what is written down."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from overread.errors import StorageError, UsageError
from overread.study import Settings, find_study_candidates, run_study
from overread.study import _run as run
from overread.study._run import _check_name, _find_versions, _merge_execution, plain_settings
from overread.study._settings import Execution
from study_stand_in import spec


def test_options_of_the_call_take_the_place_of_the_study_s() -> None:
    own = Execution(executor="serial", batch=3)
    assert _merge_execution(own, {"workers": 2}) == Execution(executor="serial", batch=3, workers=2)
    with pytest.raises(UsageError, match=r"--workers 0"):
        _merge_execution(own, {"workers": 0})


@pytest.mark.parametrize("name", ["main", "a-b_c.2", "ünder"])
def test_plain_names_are_taken(name: str) -> None:
    assert _check_name(name) == name


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        _check_name(name)


def test_versions_are_of_what_is_there() -> None:
    found = _find_versions(["numpy", "no-such-package"])
    assert list(found) == ["numpy"]


def test_settings_without_how_they_are_executed() -> None:
    kept = plain_settings(Settings())
    assert "execution" not in kept
    assert "limits" not in kept
    assert kept["seed"] == 0


def test_a_run_writes_down_what_it_did(light_numbers: Path) -> None:
    record = json.loads((light_numbers / "runs/main/provenance.json").read_text())
    assert record["stages_done"][:2] == ["truth", "split"]
    assert set(record["seconds"]) == {*record["stages_done"], *record["stages_still_valid"]}
    log = (light_numbers / "runs/main/run.log").read_text()
    assert "truth: done" in log
    assert "run ends: 0 of 36 images quarantined" in log


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


def test_what_it_will_take_is_told_before_images_and_again_from_a_sample(
    fresh_numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(run, "say", told.append)
    find_study_candidates(fresh_numbers, pipeline=spec(), execution={"executor": "serial"})
    guess, size, mended, seen = (line for line in told if line.startswith("about "))
    assert "a guess before the first image is done" in guess
    assert re.search(
        r"as an image is done every \S+ s, and 12 from all over the study have \d+ candidates each", mended
    )
    assert all(re.fullmatch(r"about \d+ MB of memory and \d+ MB of disk", line) for line in (size, seen))

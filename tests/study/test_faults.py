"""Kills, full disks, folders that cannot be written, two runs at once: nothing is lost, nothing half done."""

import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overread.cli import main
from overread.errors import LockedError, StorageError
from overread.files import Journal, run_lock
from overread.study import RunReport, run_study
from overread.study._store import Manifest, RunFolder
from overread.study.executors._executors import ProcessExecutor
from study_stand_in import spec
from study_trees import content, copied, same


def forked(work: Callable[[], object]) -> int:
    """Run in a copy of this process, which is warm; its exit code is 0 if the work was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def killed_at(child: int, run: Path, steps: int, seconds: float) -> bool:
    """Kill a run so many finished pieces of work and then so many seconds of its own time on; False if it ended."""
    ended, status, seen, since = 0, 0, progress(run), 0.0
    while not ended and (steps or processor_seconds(child) < since + seconds):
        if steps and progress(run) != seen:
            steps, seen, since = steps - 1, progress(run), processor_seconds(child)
        time.sleep(0.005)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def progress(run: Path) -> list[int]:
    """Marks that change with every shard and every record of a stage."""
    return [folder.stat().st_mtime_ns for name in ("shards", "stages") if (folder := run / name).exists()]


def processor_seconds(process: int) -> float:
    """Time that a process has computed: unlike the clock's, no matter how busy the machine is."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def features_made(calls: Path) -> Counter[str]:
    """How often the features of each image were made."""
    lines = calls.read_text().splitlines() if calls.exists() else []
    return Counter(line.removeprefix("features ") for line in lines if line.startswith("features"))


def check_undisturbed(study: Path, original: Path, n_lost: int) -> None:
    """See that a run ended in the bytes of another, and that at most so many images were worked on in vain."""
    assert same(study / "runs/main", original / "runs/main")
    times = features_made(study / "calls")
    assert len(times) == 36
    assert times.total() - len(times) <= n_lost
    log = (study / "runs/main/run.log").read_text()
    assert max(Counter(re.findall(r" (\w+): done ", log)).values()) == 1


def killed_runs(study: Path, original: Path, chance: random.Random, executor: str, most: int) -> int:
    """Run a study, killed again and again, each run from where the last one stopped; return the number of kills."""
    run, calls = study / "runs/main", study / "calls"
    pipeline, execution = spec(calls=str(calls)), {"executor": executor, "workers": 2}
    settled: dict[str, int] = {}
    n_kills = 0
    while n_kills < most:
        child = forked(lambda: run_study(study, pipeline=pipeline, execution=execution))
        if not killed_at(child, run, chance.randrange(4), chance.expovariate(1 / 0.15)):
            break
        n_kills += 1
        times = features_made(calls)
        settled = {image_id: times[image_id] for image_id in Manifest(RunFolder(run)).entries} | settled
    assert run_study(study, pipeline=pipeline, execution=execution).n_quarantined == 0
    times = features_made(calls)
    assert settled == {image_id: times[image_id] for image_id in settled}
    check_undisturbed(study, original, n_lost=n_kills * (2 if executor == "processes" else 1))
    return n_kills


def check_killed_runs(original: Path, folder: Path, n_kills: int, seed: int, executor: str) -> None:
    """Kill runs so many times in all; a run that came to its end is begun anew."""
    chance, left = random.Random(seed), n_kills
    for turn in itertools.count():
        left -= killed_runs(copied(original, folder / str(turn), run=False), original, chance, executor, left)
        if left == 0:
            return


def test_killed_runs_end_in_the_same_bytes(light_original: Path, tmp_path: Path) -> None:
    check_killed_runs(light_original, tmp_path, n_kills=4, seed=1, executor="serial")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_killed_runs(light_original: Path, original: Path, tmp_path: Path, seed: int) -> None:
    study = original if seed >= 8 else light_original
    executor = "processes" if seed % 2 else "serial"
    check_killed_runs(study, tmp_path, n_kills=14, seed=100 + seed, executor=executor)


def children_of(process: int) -> list[int]:
    """Processes that this one started."""
    found = Path(f"/proc/{process}/task/{process}/children")
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text().split()] if found.exists() else []


def workers_of(process: int) -> list[int]:
    return [child for child in children_of(process) if is_worker(child)]


def is_worker(process: int) -> bool:
    try:
        return b"overread.study.executors._worker" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def kill_workers(n_kills: int, seed: int, calls: Path, stop: threading.Event, killed: list[int]) -> None:
    """Kill workers of this process, each a few images and a random moment after the last."""
    chance, n_images = random.Random(seed), 0
    for _ in range(n_kills):
        n_images += chance.randrange(3)
        while features_made(calls).total() < n_images or not workers_of(os.getpid()):
            if stop.wait(0.005):
                return
        time.sleep(chance.uniform(0.0, 0.2))
        killed.append(chance.choice(workers_of(os.getpid())))
        os.kill(killed[-1], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(("n_kills", "seed"), [(2, 2), *((10, 200 + seed) for seed in range(6))])
def test_killed_workers_cost_nothing_but_time(
    fresh: Path, light_original: Path, n_kills: int, seed: int
) -> None:
    calls, stop, killed = fresh / "calls", threading.Event(), []
    killer = threading.Thread(target=kill_workers, args=(n_kills, seed, calls, stop, killed))
    killer.start()
    try:
        report = run_study(
            fresh,
            pipeline=spec(calls=str(calls), seconds=0.1),
            execution={"executor": "processes", "workers": 2},
        )
    finally:
        stop.set()
        killer.join()
    assert len(killed) == n_kills
    assert report.n_quarantined == 0
    check_undisturbed(fresh, light_original, n_lost=n_kills)


def test_workers_of_a_killed_run_end(fresh: Path) -> None:
    def work() -> None:
        execution = {"executor": "processes", "workers": 2}
        run_study(fresh, pipeline=spec(seconds=0.3), execution=execution)

    child = forked(work)
    workers = wait_for(lambda: workers_of(child))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert wait_for(lambda: not any(is_worker(worker) for worker in workers))
    with run_lock(fresh / "runs/main"):
        pass  # the dead process holds it no longer


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> object:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a small disk of a given size; skips where that is not allowed."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        place = tmp_path / "disk"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if (
            shutil.which("mount") is None
            or subprocess.run(command, capture_output=True, check=False).returncode
        ):
            pytest.skip("mounting a disk is not allowed here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_and_then_room(
    light_original: Path, small_disk: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    disk = small_disk("6m")
    study = disk / "study"
    shutil.copytree(light_original, study, ignore=shutil.ignore_patterns("runs"))
    ballast = disk / "ballast"
    free = shutil.disk_usage(disk).free
    ballast.write_bytes(b"\0" * (free - 150_000))
    with pytest.raises(StorageError, match="space"):
        run_study(study, pipeline=spec())
    done = len(list((study / "runs/main/shards").glob("*.parquet")))
    assert 0 < done < 36
    assert not list(study.rglob("*.part"))
    ballast.unlink()
    calls = light_original.parent / "disk calls"
    report = run_study(study, pipeline=spec(calls=str(calls)))
    assert report.n_quarantined == 0
    assert len([line for line in calls.read_text().splitlines() if "features" in line]) <= 36 - done + 1
    assert same(study / "runs/main", light_original / "runs/main")


@pytest.mark.slow
def test_files_that_may_not_grow(fresh: Path, light_original: Path) -> None:
    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        try:
            run_study(fresh, pipeline=spec())
        except StorageError:
            os._exit(StorageError.exit_code)

    child = forked(work)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    run_study(fresh, pipeline=spec())
    assert same(fresh / "runs/main", light_original / "runs/main")


def test_a_read_only_disk(light_original: Path, small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("3m")
    shutil.copytree(light_original, disk / "study", ignore=shutil.ignore_patterns("runs"))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StorageError, match="Read-only"):
        run_study(disk / "study", pipeline=spec())


def test_two_runs_at_once(light: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_lock(light / "runs/main"):
        with pytest.raises(LockedError, match=str(os.getpid())):
            run_study(light, pipeline=spec())
        assert main(["run", str(light)]) == 8
    assert "another run" in capsys.readouterr().err
    assert run_study(light, pipeline=spec()).done == []


def test_an_error_of_the_run_is_not_told_as_one_of_its_lock(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), run_lock(tmp_path):
        (tmp_path / "elsewhere").read_bytes()


def test_a_run_that_waits_leaves_the_files_of_the_other_alone(light: Path) -> None:
    half_written = light / "runs/main/.overread-1.part"
    with run_lock(light / "runs/main"):
        half_written.touch()
        with pytest.raises(LockedError):
            run_study(light, pipeline=spec())
        assert half_written.exists()
    run_study(light, pipeline=spec())
    assert not half_written.exists()


def test_the_lock_of_a_dead_process_is_taken_over(light: Path) -> None:
    def hold() -> None:
        with run_lock(light / "runs/main"):
            os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(forked(hold), 0)
    assert run_study(light, pipeline=spec()).done == []


def test_an_interrupt_leaves_a_run_that_goes_on(
    fresh: Path, light_original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Interrupting(ProcessExecutor):
        def work(self, tasks, *, alone=False):
            for outcome in super().work(tasks, alone=alone):
                seen.append(outcome.image_id)
                if len(seen) == 7:
                    raise KeyboardInterrupt
                yield outcome

    monkeypatch.setattr("overread.study._run.ProcessExecutor", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        run_study(fresh, pipeline=spec(), execution={"executor": "processes", "workers": 2})
    assert not workers_of(os.getpid())
    assert len(list((fresh / "runs/main/shards").glob("*.parquet"))) == 6
    monkeypatch.undo()
    calls = fresh.parent / "calls"
    run_study(fresh, pipeline=spec(calls=str(calls)))
    assert len(calls.read_text().splitlines()) == 2 * 30
    assert same(fresh / "runs/main", light_original / "runs/main")


def test_a_journal_that_was_cut_in_mid_line(light: Path) -> None:
    before = content(light / "runs/main")
    manifest = light / "runs/main/manifest.json"
    entries = json.loads(manifest.read_text())["images"]
    manifest.unlink()
    path = light / "runs/main/manifest.journal"
    with Journal(path) as journal:
        for entry in entries[:21]:
            journal.add(entry["image_id"], entry)
    path.write_bytes(path.read_bytes()[:-50])
    calls = light / "calls"
    report: RunReport = run_study(light, pipeline=spec(calls=str(calls)))
    assert report.done == ["images"]
    assert len(calls.read_text().splitlines()) == 2 * 16
    assert content(light / "runs/main") == before

"""``memory_mb`` is foretold by the formula that fits use, judged before the first fit, and kept by every fit."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.study_memory import SETTINGS
from benchmarks.study_outputs import COMMAND, write_tables

from overread.bags import StoredInstances
from overread.cli import main
from overread.errors import InvalidInputError
from overread.models import SoftMILPath
from overread.models import _budget as room
from overread.models.solver._curvature import Curvature
from overread.study._run import RESERVE_MB, MemoryNeed


def write_study(folder: Path, n_images: int, n_candidates: int, n_features: int) -> Path:
    write_tables(
        folder,
        n_images=n_images,
        n_candidates=n_candidates,
        n_features=n_features,
        lesions=0.3,
        readings=(5, 5),
        n_readers=5,
        n_informative=20,
        seed=0,
    )
    more = "folds = 2\n\n[evaluation]\nn_bootstrap = 200\n"
    (folder / "study.toml").write_text(SETTINGS.format(wanted='["soft"]', more=more))
    return folder


def test_a_study_is_told_what_its_fits_will_ask_for(monkeypatch):
    """The review's study: 100,000 candidates x 3750 features, two thirds of them in the largest fit."""
    need = MemoryNeed.estimate(100_000, 3750, fitted=0.667)
    held = MemoryNeed.estimate(100_000, 0, fitted=0.667).whole + RESERVE_MB
    assert held > 568, "what the run held when its last fit began, with memory_mb = 900"
    monkeypatch.setattr(room, "_taken_bytes", lambda: int(1e6 * held))
    with pytest.raises(InvalidInputError, match="the least is") as refused:
        room.room_for_columns(700, 66_700, 3750)
    assert float(str(refused.value).rsplit(" ", 1)[1]) == pytest.approx(need.least, abs=1)
    assert room.room_for_columns(need.bound, 66_700, 3750).columns > 0


def test_a_bound_that_is_too_small_is_refused_before_anything_is_fitted(tmp_path, capsys):
    study = write_study(tmp_path / "study", 60, 5, 30)
    assert main(["run", str(study), "--memory-mb", "100", "--quiet"]) == 4
    said = " ".join(capsys.readouterr().err.split())
    assert "memory_mb = 100 is too little for the largest fit of this study: set it to" in said
    log = (study / "runs" / "main" / "run.log").read_text()
    assert "check_parts: done" in log
    assert "candidates" not in log


def test_a_curvature_takes_no_more_than_it_has(tmp_path, monkeypatch):
    """A working set far above the usual one: fewer rows are sampled, and the model is that of the fit in memory."""
    random = np.random.default_rng(0)
    X = random.normal(size=(12_000, 80)).astype(np.float32)
    labels = 1 / (1 + np.exp(-X[:, :40] @ random.normal(size=40)))
    path = tmp_path / "X.npy"
    np.save(path, np.asfortranarray(X))
    taken, allowed = [], []
    for name in ("refresh", "extend"):
        monkeypatch.setattr(Curvature, name, note_bytes(getattr(Curvature, name), taken, allowed))
    options: dict[str, Any] = {"n_alphas": 6, "min_ratio": 0.01}
    expected = SoftMILPath(**options).fit(X, labels)
    free, bound = max(taken), 1.0
    taken.clear()
    allowed.clear()
    monkeypatch.setattr(room, "USUAL_WORKING_SET", 8)
    monkeypatch.setattr(room, "_taken_bytes", lambda: 0)
    bound += room.find_least_bytes(*X.shape) / 1e6
    found = SoftMILPath(memory_mb=bound, **options).fit(StoredInstances(path), labels)
    assert max(found.n_features_) > 30
    assert max(taken) < free / 1.5
    assert all(one <= most for one, most in zip(taken, allowed, strict=True))
    np.testing.assert_allclose(found.objectives_, expected.objectives_, rtol=1e-8)


def note_bytes(work: Any, taken: list[int], allowed: list[float]) -> Any:
    """Note how large the sampled rows are after each step, three of them at most at once, and what they may take."""

    def noted(self: Curvature, *given: Any) -> None:
        work(self, *given)
        taken.append(3 * self._block.nbytes)
        allowed.append(self.features.sample_bytes)

    return noted


@pytest.mark.slow
def test_the_peak_stays_below_the_bound_that_is_named(tmp_path):
    """20,000 candidates x 2,000 features, from the command line, in a process of its own."""
    study = write_study(tmp_path / "study", 400, 50, 2000)
    code, _, said = run_and_measure(study, 300)
    assert code == 4
    (least,) = map(int, re.findall(r"set it to (\d+) or more", said))
    code, peak, said = run_and_measure(study, least)
    assert (code, said) == (0, "")
    assert peak < 1e6 * least


def run_and_measure(study: Path, memory_mb: int) -> tuple[int, int, str]:
    """Exit code, peak of the resident memory in bytes (VmHWM), and what was said on standard error."""
    command = [sys.executable, "-c", COMMAND, "run", str(study), "--quiet", "--memory-mb", str(memory_mb)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024, " ".join(said.split())

"""A bit flipped in any file of a finished run: what is read is refused or as it was, and the next run mends it."""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from overread.errors import OverreadError
from overread.study import open_run, run_study
from study_stand_in import spec
from study_trees import TELLS_OF_THE_RUN, content


def read_all(root: Path) -> list[Any]:
    """All that a finished run gives back."""
    run = open_run(root)
    tables = sorted(path.stem for path in (root / "tables").glob("*.parquet"))
    return [
        *(repr(part) for part in (run.results, run.settings.to_plain(), run.figures, run.pictures, run.head)),
        *(run.table(name).to_json() for name in tables),
        run.features().to_json(),
        run.model("soft").coef_.tolist(),
        run.threshold("soft", 1.0),
        run.matched("soft").test.fingerprint(),
    ]


def flip(path: Path, number: int) -> None:
    """Flip one bit of a file; the same number gives the same bit."""
    chance = random.Random(number)
    damaged = bytearray(path.read_bytes())
    if damaged:
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)


def flip_and_mend(original: Path, place: Path, numbers: range) -> Counter[str]:
    """Count what became of flipped bits; what is neither refused nor as before, is a failure."""
    whole, told = content(original / "runs/main"), read_all(original / "runs/main")
    files = sorted(path for path in (original / "runs/main").rglob("*") if path.is_file())
    study = Path(shutil.copytree(original, place))
    counts: Counter[str] = Counter()
    for number in numbers:
        file = files[number % len(files)].relative_to(original)
        flip(study / file, number)
        remedies: list[str] = []
        try:
            assert read_all(study / "runs/main") == told, (number, file)
            counts["read as before"] += 1
        except OverreadError as error:
            remedies.append(str(error))
            counts["refused"] += 1
        assert all("overread run" in remedy for remedy in remedies), (number, file)
        try:
            run_study(study, pipeline=spec())
            assert content(study / "runs/main") == whole, (number, file)
            counts["mended"] += 1
        except OverreadError:
            counts["run refused"] += 1
        if file.name in TELLS_OF_THE_RUN or content(study / "runs/main") != whole:
            shutil.rmtree(study)
            shutil.copytree(original, study)
    return counts


def test_flipped_bits_are_refused_or_harmless_and_mended(light_original: Path, tmp_path: Path) -> None:
    counts = flip_and_mend(light_original, tmp_path / "study", range(0, 101, 13))
    assert counts["mended"] == 8
    assert counts["refused"] >= 1


@pytest.mark.slow
def test_five_hundred_flipped_bits(light_original: Path, tmp_path: Path) -> None:
    counts = flip_and_mend(light_original, tmp_path / "study", range(500))
    assert counts["mended"] + counts["run refused"] == 500
    assert counts["refused"] > 50

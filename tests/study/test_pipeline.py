"""The package's own work on an image, from files to results."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.cli import main
from overread.errors import InvalidInputError
from overread.images import pixel_fingerprint, read_source, reading
from overread.study import ImageTask, open_run
from overread.study.pipeline import image_pipeline
from study_stand_in import LIGHT, make_study

SHAPES = LIGHT + '\n[candidates]\nlimit = 10\n[features]\nonly = ["shape.*"]\n'


def test_a_study_of_png_files_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study(tmp_path / "study", n_images=18, settings=SHAPES)
    assert main(["run", str(study), "--executor", "serial", "--quiet"]) == 0
    assert "Soft" in capsys.readouterr().out
    run = open_run(study / "runs/main")
    assert run.results.study.n_features == len(run.features().columns) - 2
    assert all(name.startswith("shape.") for name in run.features().columns[2:])
    assert run.table("candidates").groupby("image_id").size().max() <= 10
    facts = run.table("image_facts").set_index("image_id")
    assert facts.loc["case 000", "width_mm"] == pytest.approx(192.0, abs=0.7)
    assert facts.loc["case 000", "pixel_hash"] == pixel_fingerprint(read_source(run.image_path("case 000")))


def test_known_candidates_are_kept(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", n_images=6, settings=SHAPES)
    pipeline = image_pipeline(limit=5, only=["shape.*"])
    path = str(study / "images/000.png")
    work = pipeline(ImageTask("case 000", path, (2.0, 2.0)))
    known = work.candidates.iloc[:2].reset_index(drop=True)
    again = pipeline(ImageTask("case 000", path, (2.0, 2.0), known))
    assert again.candidates.equals(known)
    assert again.features.equals(work.features.iloc[:2].reset_index(drop=True))


def test_options_are_part_of_the_versions() -> None:
    plain, fewer, shapes = (
        image_pipeline(limit=limit, only=only) for limit, only in ((60, []), (50, []), (60, ["shape.*"]))
    )
    assert plain.candidate_version == shapes.candidate_version != fewer.candidate_version
    assert plain.feature_version == fewer.feature_version != shapes.feature_version
    with pytest.raises(InvalidInputError, match="no feature has such a name"):
        image_pipeline(limit=60, only=["no_such_*"])


def test_an_image_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(tmp_path / "study", n_images=6, settings=SHAPES)
    decode, decoded = reading.decoded, []
    monkeypatch.setattr(reading, "decoded", lambda content: decoded.append(1) or decode(content))
    image_pipeline(limit=5, only=["shape.area"])(
        ImageTask("case 000", str(study / "images/000.png"), (2.0, 2.0))
    )
    assert len(decoded) == 1

"""The package's own work on an image, from files to results."""

from pathlib import Path

import pytest

from overread.cli import main
from overread.domains import ChestDomain, ImagePipeline, ImageTask
from overread.errors import InvalidInputError, ModelFileError
from overread.features import CATALOGUE
from overread.images import _reading as reading
from overread.images import read_image
from overread.study import Detector, PipelineSpec, Settings, open_run, parse_settings, run_study
from study_chain import leave_out
from study_stand_in import FEATURES, LIGHT, make_study, spec

SHAPES = LIGHT + '\n[candidates]\nlimit = 10\n[features]\nonly = ["shape.*"]\n'


def test_a_study_of_png_files_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out(monkeypatch, ["pictures", "figures", "report"])
    study = make_study(tmp_path / "study", n_images=18, settings=SHAPES)
    assert main(["run", str(study), "--executor", "serial", "--quiet"]) == 0
    assert "Soft" in capsys.readouterr().out
    run = open_run(study / "runs/main")
    assert run.results.study.n_features == len(run.features().columns) - 2
    assert all(name.startswith("shape.") for name in run.features().columns[2:])
    assert run.table("candidates").groupby("image_id").size().max() <= 10
    facts = run.table("image_facts").set_index("image_id")
    assert facts.loc["case 000", "width_mm"] == pytest.approx(192.0, abs=0.7)
    radiograph = read_image(run.image_path("case 000"), mm_per_px=run.mm_per_px("case 000"))
    assert facts.loc["case 000", "pixel_hash"] == radiograph.pixel_hash
    seen = Detector.read(run.root / "detector.json").seen
    assert seen is not None
    split = run.table("split").set_index("image_id")["split"]
    assert {name: facts.loc[name, "pixel_hash"] in seen for name in split.index} == (
        split != "test"
    ).to_dict()
    assert (split == "test").any()
    assert len(seen.fingerprints) == (split != "test").sum()


def test_a_foreign_pipeline_with_features_of_the_catalogue_makes_no_detector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A detector would look for candidates as the package does, and score others than it was trained on."""
    leave_out(monkeypatch, ["pictures", "figures", "report"])
    study = make_study(tmp_path / "study", settings=LIGHT)
    names = tuple(CATALOGUE)[: len(FEATURES)]
    report = run_study(study, pipeline=spec(names=names))
    run = open_run(report.folder)
    assert tuple(run.features().columns[2:]) == names
    assert {one.name for one in run.results.models[0].features} <= set(CATALOGUE)
    assert "results" in report.done
    assert "detector" not in report.done
    assert not (run.root / "detector.json").exists()
    with pytest.raises(ModelFileError, match=r"detector\.json"):
        Detector.read(run.root / "detector.json")


def test_known_candidates_are_kept(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", n_images=6, settings=SHAPES)
    pipeline = ImagePipeline(ChestDomain(), limit=5, only=["shape.*"])
    path = str(study / "images/000.png")
    work = pipeline(ImageTask("case 000", path, (2.0, 2.0)))
    known = work.candidates.iloc[:2].reset_index(drop=True)
    again = pipeline(ImageTask("case 000", path, (2.0, 2.0), known))
    assert again.candidates.equals(known)
    assert again.features.equals(work.features.iloc[:2].reset_index(drop=True))


def test_a_foreign_pipeline_is_not_the_package_s_own() -> None:
    assert PipelineSpec.own(Settings()).is_own
    assert not spec().is_own
    options = PipelineSpec.own(
        parse_settings({"candidates": {"limit": 7}, "features": {"only": ["shape.*"]}})
    )
    assert options.build().candidate_version.endswith("at most 7")


def test_options_are_part_of_the_versions() -> None:
    options = ((60, []), (50, []), (60, ["shape.*"]))
    plain, fewer, shapes = (ImagePipeline(ChestDomain(), limit=limit, only=only) for limit, only in options)
    assert plain.candidate_version == shapes.candidate_version != fewer.candidate_version
    assert plain.feature_version == fewer.feature_version != shapes.feature_version
    with pytest.raises(InvalidInputError, match="no feature of these images has such a name"):
        ImagePipeline(ChestDomain(), limit=60, only=["no_such_*"])


def test_an_image_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(tmp_path / "study", n_images=6, settings=SHAPES)
    decode, decoded = reading._decoded, []
    monkeypatch.setattr(reading, "_decoded", lambda content: decoded.append(1) or decode(content))
    ImagePipeline(ChestDomain(), limit=5, only=["shape.area"])(
        ImageTask("case 000", str(study / "images/000.png"), (2.0, 2.0))
    )
    assert len(decoded) == 1

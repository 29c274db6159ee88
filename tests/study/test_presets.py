"""Presets: the paper's rules under one name, each a key that a file can change by itself."""

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from overread.cli import main
from overread.errors import InvalidInputError, UsageError
from overread.froc import froc_curve, sensitivity_at
from overread.models import RVMMIL
from overread.study import (
    MODELS,
    PipelineSpec,
    Settings,
    fit_path,
    list_changes,
    make_study,
    open_run,
    parse_settings,
    run_study,
)
from overread.study._presets import PAPER, PRESETS
from overread.study._run import write_settings
from overread.study._settings import leave_out_unused, settings_template
from overread.study._store import RunFolder
from study_chain import PAGE, leave_out
from study_stand_in import FAST, spec
from study_stand_in import make_study as write_study

KEYS = [(section, key) for section, own in PAPER.items() for key in own]


def test_every_value_of_a_preset_is_that_of_a_key() -> None:
    settings = parse_settings({"preset": "paper"})
    plain = settings.to_plain()
    for section, own in PAPER.items():
        assert {key: plain[section][key] for key in own} == own
    assert list_changes(plain) == {}


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_one_key_at_a_time_leads_to_the_defaults(section: str, key: str) -> None:
    default = Settings().to_plain()[section][key]
    plain = parse_settings({"preset": "paper", section: {key: default}}).to_plain()
    assert plain[section][key] == default
    changed = {} if default == PAPER[section][key] else {f"[{section}] {key}": default}
    assert list_changes(plain) == changed
    # All other keys stay the paper's.
    others = {(where, name) for where, name in KEYS if (where, name) != (section, key)}
    assert all(plain[where][name] == PAPER[where][name] for where, name in others)


def test_with_all_keys_moved_the_defaults_are_left() -> None:
    defaults = Settings().to_plain()
    moved: dict[str, Any] = {name: {key: defaults[name][key] for key in own} for name, own in PAPER.items()}
    assert parse_settings({"preset": "paper", **moved}).to_plain() == defaults | {"preset": "paper"}


def test_what_a_run_writes_down_means_the_same_settings(tmp_path) -> None:
    """Also where a key of the file has the value of the defaults and not that of the preset."""
    settings = parse_settings({"preset": "paper", "evaluation": {"thresholds": "out_of_fold"}})
    RunFolder(tmp_path).prepare()
    write_settings(RunFolder(tmp_path), settings)
    assert parse_settings(json.loads((tmp_path / "settings.json").read_text())) == settings.model_copy(
        update={"execution": Settings().execution, "limits": Settings().limits}
    )


def test_without_a_preset_settings_are_written_as_ever() -> None:
    plain = leave_out_unused(Settings().to_plain())
    assert "preset" not in plain
    assert not {"intercept", "standardize", "lambdas"} & set(plain["soft"])
    assert list_changes(plain) is None


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"study.toml, preset = 'papers': .* \(use paper,"):
        parse_settings({"preset": "papers"}, "study.toml")
    with pytest.raises(InvalidInputError, match="no such preset"):
        parse_settings({"preset": ["paper"]})


def test_a_section_that_is_no_table_is_refused_as_ever() -> None:
    with pytest.raises(InvalidInputError, match="soft = 3"):
        parse_settings({"preset": "paper", "soft": 3})


@pytest.mark.parametrize("preset", ["", *PRESETS])
def test_the_file_that_init_writes_shows_the_values_of_the_preset(preset: str) -> None:
    text = settings_template(preset=preset)
    expected = parse_settings({"preset": preset})
    assert parse_settings(tomllib.loads(text)) == expected
    for section, key in KEYS:
        value = expected.to_plain()[section][key]
        assert value is None or f"# {key} = {json.dumps(value)}\n" in text


def test_init_and_check_with_a_preset(tmp_path, capsys) -> None:
    study = write_study(tmp_path / "study")
    (study / "study.toml").unlink()
    (study / "images.csv").unlink()
    for name in ("marks.csv", "readings.csv"):
        (study / name).rename(tmp_path / name)
    assert main(["init", str(study), "--mm-per-px", "2", "--preset", "paper", "--region", "all"]) == 0
    text = (study / "study.toml").read_text()
    assert 'preset = "paper"' in text
    with pytest.raises(UsageError, match="at its top"):
        make_study(study, mm_per_px=2.0, preset="paper")
    for changed, said in (
        (text, "Preset: paper, unchanged"),
        (
            text.replace('# repeats = "count"', 'repeats = "suppress"'),
            'Preset: paper; changed: [hits] repeats = "suppress"',
        ),
    ):
        (study / "study.toml").write_text(changed)
        capsys.readouterr()
        main(["check", str(study)])
        assert said in capsys.readouterr().out


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    keys = FAST.replace('normalizations = ["bags", "class"]\n', "").replace('headline = "test"\n', "")
    study = write_study(
        tmp_path_factory.mktemp("preset") / "study", settings=f'preset = "paper"\n{keys}', n_images=60
    )
    with pytest.MonkeyPatch.context() as patch:
        leave_out(patch, PAGE)
        return open_run(run_study(study, pipeline=spec()).folder)


def test_a_run_follows_the_preset(run) -> None:
    results = run.results
    assert results.settings["preset"] == "paper"
    assert results.preset_changes == {"[evaluation] fp_targets": [0.5, 2.0]}
    soft = results.model("soft")
    assert (soft.parameters["fit_intercept"], soft.intercept) == (False, 0.0)
    assert soft.parameters["divide_by_features"]
    # Chosen by the paper's rule, and in sample: one setting is left for the folds.
    assert [len(model.choice.table) for model in results.models] == [1, 1, 1]
    assert soft.parameters["lam"] > 0
    assert results.detector.thresholds == "in_sample"
    assert results.verdict.fp_target == 0.5
    for model, rows in zip(results.models, results.table.models, strict=True):
        counted = model.counted[0]
        assert rows.rows[1].n_gts == counted.test.n_gts_reached
        points = counted.points
        assert set(points["source"]) == {"in_sample"}
        reached = points[points["measure"] == "gt_sensitivity_reached"]["estimate"]
        assert list(rows.rows[1].gt_sensitivity.values) == reached.tolist()


def with_keys(settings: Settings, section: str, **keys: object) -> Settings:
    plain = settings.to_plain()
    return parse_settings(plain | {section: plain[section] | keys})


def test_given_penalties_are_those_of_the_path(run) -> None:
    settings = with_keys(run.settings, "soft", lambdas=[0.5, 2.0], divide_by_features=False)
    path = fit_path(run.cohort.split("training"), settings, "bags")
    assert path.alphas_.tolist() == [2.0, 0.5]
    grid = MODELS["soft"].grid(
        run.cohort.split("training"),
        with_keys(settings, "soft", rule="cross_validation", normalizations=["class"]),
    )
    assert [one["lam"] for one in grid] == [2.0, 0.5]


def test_without_reader_weights_all_bags_count_the_same(run) -> None:
    weighed = run.cohort.split("training")
    plain = replace(weighed, weighs_readers=False)
    assert weighed.bags("soft").reader_weight.max() <= 8 / 25
    assert plain.bags("soft").reader_weight is None
    assert plain.weight == len(plain.bags("soft"))
    assert plain.of_images(plain.images["image_id"][:5]).bags("soft").reader_weight is None


def test_features_are_left_out_by_pattern() -> None:
    names = PipelineSpec.own(parse_settings({"preset": "paper"})).build().feature_names
    assert len(names) == 1150
    assert not [name for name in names if name.startswith("learned")]
    both = parse_settings({"features": {"only": ["shape.*", "glcm_*"], "exclude": ["glcm_*"]}})
    assert {name.partition(".")[0] for name in PipelineSpec.own(both).build().feature_names} == {"shape"}
    with pytest.raises(InvalidInputError, match="exclude"):
        PipelineSpec.own(parse_settings({"features": {"exclude": ["*"]}})).build()


def test_b1_is_the_setting_that_finds_most_in_sample(run) -> None:
    """Recounted: every setting fitted to training + validation, and its sensitivity there."""
    merged, settings = run.cohort.split("training", "validation"), run.settings
    bags, features = merged.bags("golden"), merged.features.read(merged.features.names)
    found = {}
    for bound in settings.b1.prune_bounds:
        model = RVMMIL(prune_bound=bound, max_iter=settings.b1.max_iter).fit(bags, bags.labels)
        curve = froc_curve(merged.matching.with_scores(model.instance_decision_function(features)))
        found[bound] = sensitivity_at(curve, settings.models.choice_fp_targets)["gt_sensitivity"].mean()
    chosen = run.results.model("b1").parameters["prune_bound"]
    assert found[chosen] == pytest.approx(max(found.values()))

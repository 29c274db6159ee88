from pathlib import Path

import pytest
from small_scenario import small_design

from overread.apps.scenario._design import Condition, demo_design, read_design
from overread.errors import InvalidInputError


def write(folder, text):
    place = folder / "design.toml"
    place.write_text(text)
    return place


def test_the_demo_s_design_is_a_design():
    demo = demo_design()
    assert demo.source.kind == "table"
    assert len(list(demo.points())) == demo.seeds * len(demo.conditions) * len(demo.fit.models)


def test_conditions_are_every_number_of_images_with_every_number_of_readings():
    design = small_design(readers={"images_per_reader": [0, 5]})
    assert len(design.conditions) == 2 * 3 * 2
    assert Condition(80, 4, 5) in design.conditions
    assert Condition(80, 4).budget == 320


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sedes = 3", r"sedes: there is no such key \(did you mean seeds\?\)"),
        ("[grid]\nimages = [100, 50]", "increasing order"),
        (
            "[grid]\nreadings = [9]",
            r"9 readings per image need a pool of as many readers\. Increase \[readers\] pool",
        ),
        ('[source]\nkind = "run"', 'needs run = "..."'),
        ('[source]\nkind = "study"\nstudy = "nowhere"', "no such file or folder"),
        ("[source]\ntest = 2000", "leaves no training images of cohort"),
        ("[grid]\nimages = [1900]", r"cohort - test leaves 1400"),
        ('[fit]\nmodels = ["softest"]', r"there is no model 'softest'\. Choose from soft, share, golden"),
        ('[fit]\nmodels = ["soft", "soft"]', "a model is listed twice"),
        ("[readers]\npool = 8\nimages_per_reader = [0]\nfalse_marks = -1", "false_marks"),
        ('[readers]\nleave_out = "readers"', r'only for \[source\] kind = "run"'),
        ("seeds = [", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_remedy(tmp_path, text, told):
    place = write(tmp_path, text)
    with pytest.raises(InvalidInputError, match=told) as caught:
        read_design(place)
    assert str(place) in str(caught.value)


def test_a_missing_design_is_named(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"none\.toml: does not exist \(overread scenario --demo shows"
    ):
        read_design(tmp_path / "none.toml")


def test_places_are_relative_to_the_design_whatever_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "study").mkdir()
    place = write(tmp_path, '[source]\nkind = "study"\nstudy = "study"')
    assert read_design(place).source.study == str(tmp_path / "study")
    monkeypatch.chdir(tmp_path)
    assert read_design(Path(place.name)).source.study == str(tmp_path / "study")


def test_a_study_tunes_as_the_design_says():
    settings = small_design(fit={"prune_bounds": [50.0], "screen": 7}).settings()
    assert (settings.models.folds, settings.soft.n_lambdas) == (2, 3)
    assert settings.b1.prune_bounds == settings.b2.prune_bounds == [50.0]
    assert settings.b2.n_bootstrap == 0

from __future__ import annotations

import pytest
from small_scenario import small_design

from overread.apps.scenario import _points as points_module
from overread.apps.scenario._points import claim_folder, list_points, run_points
from overread.errors import InvalidInputError, LockedError
from overread.files import folder_lock


def test_every_point_is_a_file(design, folder, done):
    points = list_points(design, folder)
    assert len(points) == len(list(design.points())) == len(list((folder / "points").glob("*.json")))
    assert all(point.measures is not None for point in points)


def test_what_is_there_is_not_measured_again(design, folder, done, material, monkeypatch):
    monkeypatch.setattr(points_module, "measure_point", lambda *_, **__: pytest.fail("measured again"))
    assert len(run_points(design, material, folder)) == len(list(design.points()))


def test_a_point_that_is_gone_is_measured_again_and_is_the_same(design, folder, done, material):
    place = folder / "points" / "golden-40x4-0-seed1.json"
    before = place.read_text()
    place.unlink()
    run_points(design, material, folder)
    without_time = [text[text.index('"measures"') :] for text in (before, place.read_text())]
    assert without_time[0] == without_time[1]


def test_more_seeds_and_models_keep_the_points_that_are_there(design, folder, done):
    larger = small_design(seeds=3, fit={"models": ["soft", "golden", "any", "majority"]})
    claim_folder(folder, larger)
    assert len(list_points(larger, folder)) == len(list(design.points()))
    claim_folder(folder, design)


def test_a_folder_of_another_design_is_refused(folder, done):
    with pytest.raises(InvalidInputError, match=r"another design.*--output"):
        claim_folder(folder, small_design(readers={"false_marks": 0.1}))


def test_two_scenarios_do_not_write_to_one_folder(design, folder, done, material):
    with folder_lock(folder, "lock", "held"), pytest.raises(LockedError):
        run_points(design, material, folder)


def test_labels_that_are_the_same_are_fitted_once(design, folder, done):
    points = {
        (p.model, p.condition.readings, p.condition.images, p.seed): p for p in list_points(design, folder)
    }
    # With one reading all labels are 1.
    assert points["golden", 1, 40, 0].seconds == 0
    assert points["golden", 1, 40, 0].measures == points["soft", 1, 40, 0].measures
    assert points["golden", 4, 40, 0].measures != points["soft", 4, 40, 0].measures


def test_a_model_that_does_not_ask_who_marked_is_fitted_once_for_all_pools(material, tmp_path, monkeypatch):
    fitted = []
    measure = points_module.measure_point
    monkeypatch.setattr(
        points_module,
        "measure_point",
        lambda model, *a, **k: fitted.append(model.name) or measure(model, *a, **k),
    )
    design = small_design(
        seeds=1,
        readers={"images_per_reader": [0, 10]},
        grid={"images": [40], "readings": [4]},
        fit={"models": ["soft", "b1", "dawid_skene"]},
    )
    claim_folder(tmp_path, design)
    points = {(p.model, p.condition.images_per_reader): p for p in run_points(design, material, tmp_path)}
    assert sorted(fitted) == ["b1", "dawid_skene", "dawid_skene", "soft"]
    assert points["b1", 10].measures.known == points["b1", 0].measures.known
    # The readers are those of the pools, all the same.
    assert [points["soft", own].measures.n_readers for own in (0, 10)] == [4, 16]


def test_what_cannot_be_fitted_is_told_and_not_raised(material, tmp_path):
    design = small_design(
        seeds=1,
        grid={"images": [40], "readings": [1, 2, 4]},
        fit={"models": ["dawid_skene"], "min_positives": 10},
    )
    claim_folder(tmp_path, design)
    points = run_points(design, material, tmp_path)
    assert [bool(point.reason) for point in points] == [True, False, False]
    assert "two readings" in points[0].reason

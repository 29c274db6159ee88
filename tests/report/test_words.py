from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.report import Headline, is_nested
from overread.report._cards import list_claim
from overread.report._words import (
    find_comparisons,
    find_mixture,
    list_cards,
    list_facts,
    list_limits,
    name_fp,
    name_range,
    name_size_range,
    nearest_to_one,
    percent,
    tell_direction,
    tell_gallery,
    tell_intervals,
    tell_method,
    tell_use,
    where_measured,
)


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, "12.3 %"), (1.0, "100.0 %"), (np.nan, "–"), (None, "–")]
)
def test_fractions_are_per_cent(value, text):
    assert percent(value) == text


def test_one_thing_is_one_thing():
    assert (name_range(3, 3), name_range(3, 5)) == ("3", "3 to 5")
    assert (name_fp(1.0), name_fp(0.5)) == ("1 false positive", "0.5 false positives")


def test_a_study_of_one_of_everything_is_told_in_the_singular(results):
    study = replace(results.study, fewest_readings=3, most_readings=3, n_patients=1)
    facts = dict(list_facts(replace(results, study=study)))
    assert facts["readings"].endswith("readers, 3 an image")
    assert "of 1 patient, " in facts["images"]


def test_features_say_which_way_they_go(results):
    up, no_weights = results.models[0].features[0], results.models[1].features[0]
    assert tell_direction(replace(up, weight=0.2)) == "A high value raises the score."
    assert tell_direction(replace(up, weight=-0.2)) == "A high value lowers the score."
    assert "both ways" in tell_direction(no_weights)


GRADES = ["too small", "chance", "too few readers", "undecided", "below readers", "among readers"]


@pytest.mark.parametrize("grade", GRADES)
def test_the_use_is_that_of_the_verdict(results, grade):
    _, advice, *_ = tell_use(replace(results, verdict=replace(results.verdict, grade=grade)))
    assert ("may be a second reader" in advice) == (grade == "among readers")
    assert ("for nothing yet" in advice) == (grade == "chance")


def test_ranks_promise_no_probability(results):
    first, *others = results.models
    ranked = replace(results, models=[replace(first, score_map="rank"), *others])
    assert "says how likely a reader would" in tell_use(results)[0]
    assert "says how likely" not in " ".join(tell_use(ranked))
    assert "puts them in order" in tell_use(ranked)[0]


def test_intervals_are_told_as_they_are_made(results):
    told = tell_intervals(results)
    assert told.startswith("Intervals are 90 %. Of sensitivities: Wilson's")
    assert "60 bootstraps over patients" in told
    assert "where none or all are found, for as many as there are patients with one" in told


def test_the_target_nearest_to_1_is_shown():
    assert nearest_to_one([0.5, 2.0]) == 0.5
    assert nearest_to_one([0.25, 1.0, 2.0]) == 1.0


@pytest.mark.parametrize(
    ("stratum", "words"),
    [("[0, 10)", "under 10 mm"), ("[10, 15)", "10 to 15 mm"), ("[20, 1000)", "20 mm and more")],
)
def test_sizes_at_the_ends_are_open(stratum, words):
    assert name_size_range(stratum) == words


def test_facts_say_whose_candidates_and_features_they_are(results):
    facts = dict(list_facts(results))
    assert facts["candidates"].startswith("at most 60 an image; ")
    assert facts["version"] == "overread 1.2.3"
    assert ", simulated (" in facts["images"]
    own = replace(results, study=replace(results.study, own_features=True, is_simulated=False))
    facts = dict(list_facts(own))
    assert facts["candidates"].startswith("the study's own; ")
    assert facts["features"].endswith(", the study's own")
    assert "simulated" not in facts["images"]


def test_limits_follow_from_the_study(results):
    limits = list_limits(results)
    assert len(limits) == 4
    assert limits[-1] == "Not converged: Noisy. Raise max_iter in study.toml."
    model = results.models[0]
    counted = model.counted[1]
    many = replace(counted, test=replace(counted.test, n_gts=400))
    quiet = replace(
        results,
        study=replace(results.study, is_simulated=False),
        models=[replace(model, counted=[many])],
    )
    (only,) = list_limits(quiet)
    assert only.startswith("The truth here is the readers' agreement")


def test_the_width_of_a_few_objects_is_that_of_the_normal_approximation(results):
    n = results.models[0].counted[0].test.n_gts
    assert f"±{196 * np.sqrt(0.25 / n):.0f} points." in " ".join(list_limits(results))


def test_a_card_without_an_interval_tells_none(results):
    model = results.models[0]
    counted = model.counted[0]
    unsure = replace(counted, locked=counted.locked.assign(lower=np.nan, upper=np.nan))
    cards = list_cards(replace(results, models=[replace(model, counted=[unsure])]))
    assert not any("(90 %" in card.label for card in cards)
    assert "(90 %: " in list_cards(results)[0].label


def test_the_gallery_tells_its_threshold_or_that_none_is_reached(results):
    gallery = results.gallery
    none = gallery.false_positives.assign(is_nodule=False)
    at = "At the out-of-fold threshold for 0.5 false positives per image: a score of 0.75."
    assert tell_gallery(replace(results, gallery=replace(gallery, false_positives=none))) == at
    assert tell_gallery(results).startswith(
        f"{at} Of 2 false positives of the test set 1 is a simulated nodule that"
    )
    for nothing in (np.nan, np.inf):
        never = replace(results, gallery=replace(results.gallery, threshold=nothing))
        assert tell_gallery(never).endswith("per image, which no score reaches.")


def test_comparisons_are_those_of_the_study_s_treatment_and_the_mixture_is_the_one_with_readers(results):
    assert [(pair.first, pair.second, pair.single_reader) for pair in find_comparisons(results)] == [
        ("soft", "noisy", "ignore")
    ]
    assert find_mixture(results).name == "noisy"
    assert find_mixture(replace(results, models=results.models[:1])) is None


def make_nested(results):
    """Results of the same numbers that were cross-validated."""
    other = replace(results.models[1].counted[0], test=replace(results.models[1].counted[0].test, n_gts=77))
    headline = Headline("nested", ["soft", "noisy", "soft"], other)
    return replace(results, headline=headline, gallery=replace(results.gallery, threshold=-1.0))


def test_a_nested_run_says_so_wherever_it_gives_figures(results):
    nested = make_nested(results)
    assert is_nested(nested)
    assert not is_nested(results)
    assert "in each of 3 folds" in tell_method(nested).lower()
    assert "Soft 2, Noisy 1" in tell_method(nested)
    assert "test set" in tell_method(results)
    # The first figure is that of what the folds chose, not of the model that is shipped.
    assert "of 77 golden objects of all patients, each unseen" in list_cards(nested)[0].label
    assert "golden objects of the test set" in list_cards(results)[0].label
    assert "77 golden objects of all patients" in " ".join(list_limits(nested))
    assert tell_gallery(nested).startswith("At each fold's own threshold")
    assert dict(list_facts(nested))["figures"] == "of all patients, each unseen (nested cross-validation)"
    assert where_measured(results) == "the test set"


def test_claim_says_what_kind_of_figures_they_are(results):
    told, before = (
        {number: text for number, _, text in list_claim(one)} for one in (make_nested(results), results)
    )
    assert "3 outer folds" in told[20]
    assert "nested cross-validation" in told[35]
    assert "inside each outer fold" in told[26]
    assert "the test set" in before[35]
    assert "nested" not in "".join(before.values())


def test_sizes_are_in_the_unit_and_large_ones_of_pixels_have_an_end():
    assert name_size_range("[600, 900)", "px") == "600 to 900 px"
    assert name_size_range("[900, 1e+06)", "px") == "900 px and more"


def test_a_chair_s_decisions_are_told(results):
    said = {"lesion": 2, "not": 1, "unsure": 3, "open": 1}
    decided = replace(results, study=replace(results.study, decisions=said))
    told = dict(list_facts(decided))["adjudication"]
    assert told == (
        "a chair decided on 3 objects on which readers disagreed: 2 golden with probability 1, 1 taken out; 4 left as "
        "the readers marked them"
    )
    assert "adjudication" not in dict(list_facts(results))

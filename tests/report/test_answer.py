"""The first thing on the page: a plain answer for every grade, with a sign and a colour, and what it rests on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.report import Headline, sum_up
from overread.report._words import give_answer

BEGINNINGS = {
    "among readers": ("good", "Usable as a second reader: "),
    "below readers": ("limited", "Do not use as a second reader: "),
    "too few readers": ("limited", "Do not use yet: "),
    "undecided": ("unsure", "Too small to tell whether it keeps up with the median reader. "),
    "chance": ("bad", "Do not use: "),
    "too small": ("unsure", "Too small to tell: "),
}


def judged(results, grade, **changes):
    return replace(results, verdict=replace(results.verdict, grade=grade, **changes))


@pytest.mark.parametrize("grade", BEGINNINGS)
def test_the_headline_and_its_tone_follow_the_grade(results, grade):
    answer = give_answer(judged(results, grade))
    tone, beginning = BEGINNINGS[grade]
    assert answer.tone == tone
    assert answer.headline.startswith(beginning)
    assert answer.headline == sum_up(judged(results, grade))[0]
    assert [part.about for part in answer.parts][:3] == ["How good", "Against the readers", "What next"]


def test_golden_is_defined_where_it_is_first_said(results):
    said = " ".join((give_answer(results).headline, *(part.text for part in give_answer(results).parts)))
    first = said.lower().index("golden")
    assert said[first:].split("Golden", 1)[1].startswith(" is an object that two readers or more marked.")
    by_marks = replace(results, settings={**results.settings, "labels": {"score": "marks"}})
    assert "Golden is an object with two marks or more." in give_answer(by_marks).parts[0].text


def test_a_small_study_says_what_it_leaves_possible(results):
    n_gts = results.detector.test.n_gts
    small = judged(results, "too small", lower=0.12, upper=0.774)
    assert (
        f"{n_gts} objects to find in unseen patients leave 12 to 77 % possible" in give_answer(small).headline
    )
    unknown = judged(results, "too small", lower=np.nan, upper=np.nan)
    assert "say too little" in give_answer(unknown).headline
    assert "nan" not in " ".join(part.text for part in give_answer(unknown).parts)


def test_readers_and_next_steps_are_told_as_far_as_they_are_known(results):
    nobody = replace(results, reader_points=results.reader_points.iloc[:0])
    alone = give_answer(judged(nobody, "too few readers", n_readers=0, median_reader=None))
    assert "three readings of an image or more" in alone.parts[1].text
    few = give_answer(judged(results, "too few readers", n_readers=0, median_reader=None)).parts[1].text
    n_readers = len(results.reader_points)
    assert few.endswith(f" {n_readers} readers judged on fewer than 30 objects do not count in the verdict.")
    enough = give_answer(judged(results, "among readers", objects_needed=0))
    assert "are enough" in enough.parts[2].text
    more = give_answer(judged(results, "among readers", objects_needed=3000, images_needed=1234))
    assert "takes up to 3,000 golden objects of unseen patients, in 1,234 images" in more.parts[2].text


def test_what_to_bear_in_mind_is_said_once(results):
    told = give_answer(judged(results, "among readers", better_on_test="noisy")).parts
    assert [part.about for part in told[3:]] == ["Bear in mind"] * 2
    assert "simulated" in told[3].text
    assert told[4].text.startswith("Noisy does better in the test set")
    real = replace(results, study=replace(results.study, is_simulated=False))
    assert len(give_answer(real).parts) == 3
    assert "simulated" not in " ".join(sum_up(real))
    assert sum_up(results)[1].endswith("The study is simulated.")


def test_cross_validated_figures_are_called_so(results):
    nested = replace(results, headline=Headline("nested", ["soft"], results.models[1].counted[0]))
    assert "of unseen patients, cross-validated (90 % interval " in sum_up(nested)[1]
    silent = replace(nested, verdict=replace(results.verdict, sensitivity=0.0, fp_per_image=0.0))
    assert "mark nothing at this threshold" in give_answer(silent).parts[0].text


def test_without_anything_to_find_no_number_is_given(results):
    counted = results.models[0].counted[0]
    none = replace(counted, test=replace(counted.test, n_gts=0))
    empty = replace(results, models=[replace(results.models[0], counted=[none]), *results.models[1:]])
    assert sum_up(empty)[1].startswith("There is no golden object in the test set")

from __future__ import annotations

from dataclasses import replace

from overread.report._cards import BY_THE_AUTHORS, CLAIM_ITEMS, list_claim
from overread.report._words import tell_exclusions, tell_flow


def test_every_item_has_a_row_and_what_the_run_does_not_know_is_left_to_the_authors(results):
    rows = list_claim(results)
    assert [row[0] for row in rows] == sorted(CLAIM_ITEMS)
    assert {row[0] for row in rows if row[2] == BY_THE_AUTHORS} == {7, 10, 15, 16}
    assert all(row[2] for row in rows)


def test_patients_of_each_part_are_told(results):
    told = {row[0]: row[2] for row in list_claim(results)}
    parts = {split.name: split.n_patients for split in results.study.splits}
    assert (
        told[34]
        == f"patients: training {parts['training']}, validation {parts['validation']}, test {parts['test']}"
    )


def test_exclusions_are_those_of_the_flow_chart(results):
    real = replace(results, study=replace(results.study, is_simulated=False))
    told = {row[0]: row[2] for row in list_claim(real)}
    assert (told[13], told[33]) == (tell_exclusions(real), tell_flow(real))


def test_models_are_told_by_their_own_titles_and_sentences(results):
    told = {row[0]: row[2] for row in list_claim(results)}
    assert told[22] == "Soft: The model soft & nothing else.; Noisy: The model noisy & nothing else."
    assert told[24].startswith("Soft: zero weights")
    assert told[26].endswith("the sparsest within 1 standard error of the best")


def test_without_a_penalty_or_weights_nothing_is_said_of_them(results):
    trees = replace(results, paper_choice=None, models=results.models[1:], supported=results.models[1].name)
    told = {row[0]: row[2] for row in list_claim(trees)}
    assert {told[number] for number in (24, 31)} == {BY_THE_AUTHORS}
    assert told[25] == "settings in settings.json"


def test_copies_are_claimed_to_be_refused_only_where_they_were_compared(results):
    def tell(what):
        study = replace(results.study, compared={what: 150})
        return {row[0]: row[2] for row in list_claim(replace(results, study=study))}[21]

    assert "identical pixels in two parts are refused, and pictures that look the same" in tell("picture")
    assert "copies that differ in a pixel were not looked for" in tell("pixels")
    assert "no pixels were read" in tell("rows")
    assert "identical pixels" not in tell("rows")
    assert "were not looked for" in tell("")

"""The counting convention, and the records of it in fingerprints and locks."""

import pytest

from overread.errors import InvalidInputError
from overread.froc import SINGLE_READER, Counting, Matching, match_detections
from overread.truth import HIT, STRICT_HIT, DistanceHit, EllipseHit, OverlapHit


def test_the_default_is_that_of_a_study():
    counting = Counting()
    assert (counting.rule, counting.single_reader) == (HIT, SINGLE_READER) == (HIT, "ignore")
    assert counting.option_record() == {
        "single_reader": "ignore",
        "extra_hits": "ignore",
        "shared_candidates": "all",
        "repeats": "suppress",
    }
    # Fingerprints and locks of the time before repeats were suppressed stay as they were.
    assert "repeats" not in Counting(repeats="count").option_record()


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        (HIT, {}),
        (STRICT_HIT, {"scale": 0.5, "min_semi_axis_mm": 4.0}),
        (EllipseHit(margin=2.0), {"margin_mm": 2.0}),
        (DistanceHit(9.0), {"kind": "distance", "max_distance_mm": 9.0}),
        (OverlapHit(0.1), {"kind": "overlap", "min_overlap": 0.1}),
    ],
)
def test_records_are_those_of_files_written_before_rules_were_classes(rule, changed):
    first = {
        "kind": "ellipse",
        "scale": 1.0,
        "min_semi_axis_mm": 5.0,
        "margin_mm": 0.0,
        "max_distance_mm": None,
        "min_overlap": None,
    }
    record = Counting(rule=rule).rule_record()
    assert record == first | changed
    # Fingerprints hash the text of the record: the order counts.
    assert list(record) == list(first)


def test_another_rule_needs_another_match(make_tables):
    tables = make_tables(1, 6, 40, 8, 100)
    with pytest.raises(InvalidInputError, match="other hits"):
        match_detections(*tables).with_counting(rule=STRICT_HIT)
    with pytest.raises(InvalidInputError, match="needs a rule"):
        match_detections(*tables, counting=Counting(rule=None))
    events = Matching.from_events(n_images=1, fp_scores=[], fp_images=[], gt_scores=[], gt_images=[])
    assert events.counting.rule_record() is None

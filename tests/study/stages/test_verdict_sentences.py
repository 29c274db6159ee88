"""The verdict compares the detector with the median reader, and says how many readers found clearly more."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.froc import ChanceLevel, Counting, FigureComparison, MeanDifference, StudySize
from overread.report import Counted, ModelComparison, SetResult, sum_up
from overread.report._words import give_answer, tell_lines
from overread.study import Split
from overread.study.stages.performance import judge_readers, reach_verdict
from overread.truth import HIT, MergeOptions

N_IMAGES = 80
# Lesions of each image.
PLACES = (50.0, 150.0, 250.0)
SIZE = {"semi_major": 8.0, "semi_minor": 8.0, "angle_deg": 0.0, "y": 20.0}


def count(sensitivity: float = 0.4, half_width: float = 0.07, n_gts: int = 200) -> Counted:
    """Give the detector's own figures at 1 false positive per image, far above chance."""
    rows = [
        ("gt_sensitivity", sensitivity, sensitivity - half_width, sensitivity + half_width),
        ("fp_per_image", 0.95, 0.8, 1.1),
    ]
    locked = pd.DataFrame(rows, columns=["measure", "estimate", "lower", "upper"])
    points = pd.DataFrame({"fp_target": [1.0], "chance_gt_sensitivity": [0.17]})
    part = SetResult(N_IMAGES, n_gts, n_gts, 70, 70, pd.DataFrame(), pd.DataFrame(), ())
    chance = ChanceLevel(points=points, reached=1.0, chance_reached=0.2, n_shifts=5, exact=False)
    locked = locked.assign(source="out_of_fold", fp_target=1.0)
    return Counted("ignore", part, part, part, locked, pd.DataFrame(), chance)


def answer(counted: Counted, points: pd.DataFrame) -> Any:
    """Give what the answer is made of: a real study with a detector and readers."""
    model = SimpleNamespace(title="B2", n_features=9, score_map="isotonic", counted=[counted])
    return SimpleNamespace(
        verdict=reach_verdict("b2", counted, points, (), 1.0, None),
        reader_points=points,
        detector=counted,
        models=[model],
        model=lambda _: model,
        headline=SimpleNamespace(kind="test"),
        study=SimpleNamespace(
            **dict.fromkeys(("is_simulated", "own_candidates", "own_features"), False),
            decisions={},
            fewest_readings=4,
            most_readings=4,
            **dict.fromkeys(("n_readers", "n_marks", "n_images", "n_patients"), 4),
        ),
        settings={},
        level=0.95,
    )


def read_images(skills: dict[str, float], detector: float) -> tuple[Split, np.ndarray]:
    """Let readers mark every lesion with their own probability, and a detector find some with its own."""
    rng = np.random.default_rng(3)
    marks, candidates, scores = [], [], []
    for number in range(N_IMAGES):
        image = f"i{number:03d}"
        for x in PLACES:
            marks += [(image, reader, x) for reader, skill in skills.items() if rng.random() < skill]
            if rng.random() < detector:
                candidates.append((image, x))
                scores.append(rng.normal(3.0))
        # Places where nothing is: a false mark of some reader now and then, and what the detector falls for.
        for x, share in ((350.0, 0.3), (450.0, 0.3)):
            marks += [
                (image, reader, x + 30 * k) for k, reader in enumerate(skills) if rng.random() < share / 4
            ]
            if rng.random() < share:
                candidates.append((image, x + 150))
                scores.append(rng.normal(1.0))
    drawn = pd.DataFrame(marks, columns=["image_id", "reader_id", "x"])
    found = pd.DataFrame(candidates, columns=["image_id", "x"])
    ids = [f"i{number:03d}" for number in range(N_IMAGES)]
    return make_split(ids, [f"p{int(one[1:]) // 2}" for one in ids], list(skills), drawn, found), np.array(
        scores
    )


def make_split(ids: list[str], patients: list[str], readers: Any, marks: Any, found: Any) -> Split:
    """Give marks and candidates their size and ids; every reader read every image."""
    rows = [(one, reader) for one in ids for reader in readers]
    return Split(
        images=pd.DataFrame({"image_id": ids, "patient_id": patients}),
        readings=pd.DataFrame(rows, columns=["image_id", "reader_id"]),
        marks=marks.assign(mark_id=[str(row) for row in range(len(marks))], **SIZE),
        truth=pd.DataFrame(),
        candidates=found.assign(candidate_id=[str(row) for row in range(len(found))], y=20.0, radius=5.0),
        features=None,  # type: ignore[arg-type]
        hits=pd.DataFrame(),
        counting=Counting(rule=HIT.in_unit("mm"), single_reader="ignore"),
        n_max=len(readers),
    )


SKILLS = {"R3": 0.8, "R4": 0.3, "R5": 0.78, "R7": 0.75}


def test_one_outlier_among_four_readers_does_not_make_a_detector_usable():
    """The review's study: 40 % found, three readers find 75 to 80 % and the fourth, an outlier, 35 %."""
    split, scores = read_images(SKILLS, 0.42)
    points = judge_readers(list(SKILLS), split, scores, MergeOptions().in_unit("mm"))
    told = answer(count(), points)
    assert give_answer(told).tone == "limited"
    headline = give_answer(told).headline
    assert headline.startswith(
        "Do not use as a second reader: it finds less than most readers. At matched false positives it"
    )
    assert headline.endswith("three of four readers found clearly more.")


def test_the_interval_of_a_difference_is_that_of_a_recount_by_loops():
    """Draw the patients of the bootstrap, and count each replicate again from the lists of marks and candidates."""
    split, scores = read_images(SKILLS, 0.42)
    row = judge_readers(
        ["R3"], split, scores, MergeOptions().in_unit("mm"), n_bootstrap=200, seed=5, level=0.95
    ).iloc[0]
    others = split.marks[split.marks["reader_id"] != "R3"]
    golden = {place for place, n in others.groupby(["image_id", "x"]).size().items() if n > 1}
    lone = set(zip(others["image_id"], others["x"], strict=True)) - golden
    own = set(split.marks.query("reader_id == 'R3'")[["image_id", "x"]].itertuples(index=False, name=None))
    shown = dict(
        zip(split.candidates[["image_id", "x"]].itertuples(index=False, name=None), scores, strict=True)
    )

    def weigh(places: Any, times: dict[str, int]) -> int:
        return sum(times[image] for image, _ in places)

    def show(times: dict[str, int]) -> set[Any]:
        allowed = weigh(own - golden - lone, times)
        false = sorted(shown.keys() - golden - lone, key=lambda place: -shown[place])
        used, limit = 0, -np.inf
        for place in false:
            used += times[place[0]]
            if used > allowed:
                limit = shown[place]
                break
        return {place for place in golden & shown.keys() if shown[place] > limit}

    def differ(times: dict[str, int]) -> float:
        return (weigh(show(times), times) - weigh(golden & own, times)) / weigh(golden, times)

    images = split.images["image_id"].tolist()
    draws = np.random.default_rng(5).integers(0, N_IMAGES // 2, size=(200, N_IMAGES // 2), dtype=np.uint32)
    replicates = [
        differ({image: int((drawn == number // 2).sum()) for number, image in enumerate(images)})
        for drawn in draws
    ]
    whole = differ(dict.fromkeys(images, 1))
    n_discordant = len(show(dict.fromkeys(images, 1)) ^ (golden & own))
    n_patients = len({int(image[1:]) // 2 for image, _ in golden})
    worth = (n_discordant / len(golden) - whole**2) / np.var(replicates, ddof=1)
    worth = min(max(worth, n_patients), len(golden))
    middle, share = whole * worth / (worth + 2), (n_discordant / len(golden) * worth + 2) / (worth + 2)
    half = 1.959964 * max(np.std(replicates, ddof=1), ((share - middle**2) / (worth + 2)) ** 0.5)
    assert row["n_gts"] == len(golden)
    assert row["difference"] == pytest.approx(whole)
    assert (row["lower"], row["upper"]) == pytest.approx((middle - half, middle + half), abs=1e-6)


def find_few(n_lost: int, n_objects: int) -> tuple[Split, np.ndarray]:
    """Let three readers mark one lesion per image and patient; the detector loses some of them, and adds nothing."""
    ids = [f"i{number:03d}" for number in range(n_objects)]
    marks = pd.DataFrame(
        [(one, reader) for one in ids for reader in "ABC"], columns=["image_id", "reader_id"]
    )
    found = pd.DataFrame({"image_id": ids[n_lost:], "x": 50.0})
    return make_split(ids, ids, "ABC", marks.assign(x=50.0), found), np.ones(len(found))


# The share of studies with at most so many losses, if the true loss is the margin of 10 %: 4 %, 8 % and 5 %.
@pytest.mark.parametrize(
    ("n_objects", "n_lost", "grade"),
    [
        (30, 0, "among readers"),
        (30, 1, "undecided"),
        (40, 0, "among readers"),
        (40, 1, "undecided"),
        (60, 2, "among readers"),
        (60, 3, "undecided"),
    ],
)
def test_few_differences_make_no_certainty(n_objects, n_lost, grade):
    """Bonett and Price's interval, written out: one object more that only one of the two found, and one the other."""
    split, scores = find_few(n_lost, n_objects)
    points = judge_readers("ABC", split, scores, MergeOptions().in_unit("mm"))
    assert reach_verdict("b2", count(0.6), points, (), 1.0, None).grade == grade
    middle, n = -n_lost / (n_objects + 2), n_objects + 2
    half = 1.959964 * np.sqrt(((n_lost + 2) / n - middle**2) / n)
    assert points["lower"].to_numpy() == pytest.approx(middle - half, abs=0.002)
    assert points["upper"].to_numpy() == pytest.approx(middle + half, abs=0.002)


def tabulate(*rows: tuple[float, ...]) -> pd.DataFrame:
    """Readers and the detector beside each, in per cent: reader, detector, half an interval; and objects."""
    table = pd.DataFrame(
        [(*row, 120)[:4] for row in rows], columns=["sensitivity", "detector_sensitivity", "half", "n_gts"]
    )
    table[["sensitivity", "detector_sensitivity", "half"]] /= 100
    table["difference"] = table["detector_sensitivity"] - table["sensitivity"]
    table["lower"], table["upper"] = table["difference"] - table["half"], table["difference"] + table["half"]
    ids = [f"R{number}" for number in range(1, len(table) + 1)]
    return table.assign(reader_id=ids, n_images=N_IMAGES, fp_per_image=0.4).drop(columns="half")


BELOW, USABLE = (
    "Do not use as a second reader: it finds less than",
    "Worth testing as a second reader: it keeps up with the median reader.",
)
YET = "Do not use yet: it is better than chance, but"
AT = "At matched false positives it found"
# Name, readers, the detector's own figures where they matter, tone, and the sentence to sign.
CASES: dict[str, tuple[pd.DataFrame, Counted, str, str]] = {
    "an outlier": (
        tabulate((33, 35, 7), (75, 41, 7), (77, 46, 7), (80, 54, 7)),
        count(),
        "limited",
        f"{BELOW} most readers. {AT} 46 % of the objects and the median reader 77 %; three of four readers found "
        "clearly more.",
    ),
    "a second bad reader": (
        tabulate((33, 35, 7), (30, 40, 7), (77, 46, 7), (80, 54, 7)),
        count(),
        "limited",
        f"{BELOW} the median reader. {AT} 54 % of the objects and the median reader 80 %; two of four readers found "
        "clearly more.",
    ),
    "bad readers in the majority": (
        tabulate((33, 35, 7), (30, 40, 7), (36, 40, 7), (77, 46, 7), (80, 54, 7)),
        count(),
        "good",
        f"{USABLE} {AT} 35 % of the objects and the median reader 33 %; two of five readers found clearly more.",
    ),
    "many readers, one of them an outlier": (
        tabulate(*[(70 + k, 50, 8) for k in range(12)], (20, 50, 8)),
        count(),
        "limited",
        f"{BELOW} most readers. {AT} 50 % of the objects and the median reader 75 %; 12 of 13 readers found clearly "
        "more.",
    ),
    "many readers, a few of them better": (
        tabulate(*[(55 + k, 60, 4.5) for k in range(12)]),
        count(0.6),
        "good",
        f"{USABLE} {AT} 60 % of the objects and the median reader 61 %; 2 of 12 readers found clearly more.",
    ),
    "all readers better": (
        tabulate((70, 40, 8), (72, 45, 8), (80, 44, 8)),
        count(),
        "limited",
        f"{BELOW} most readers. {AT} 40 % of the objects and the median reader 70 %; all three readers found clearly "
        "more.",
    ),
    "better than all": (
        tabulate((60, 75, 6), (55, 72, 6), (62, 78, 7)),
        count(0.75),
        "good",
        f"{USABLE} {AT} 78 % of the objects and the median reader 62 %; it found clearly more than all three readers.",
    ),
    "as good as all": (
        tabulate((60, 58, 6), (55, 57, 6), (62, 61, 6)),
        count(0.6),
        "good",
        f"{USABLE} {AT} 61 % of the objects and the median reader 62 %; none of three readers found clearly more.",
    ),
    "a small but certain gap": (
        tabulate((60, 57, 2), (60, 56, 2), (60, 55, 2)),
        count(0.6),
        "limited",
        f"{BELOW} most readers. {AT} 56 % of the objects and the median reader 60 %; all three readers found clearly "
        "more.",
    ),
    "two readers, one of them better": (
        tabulate((33, 35, 7), (77, 46, 7)),
        count(),
        "limited",
        f"{BELOW} the median reader. {AT} 46 % of the objects and the median reader 77 %; one of two readers found "
        "clearly more.",
    ),
    "one reader, as good": (
        tabulate((60, 61, 6)),
        count(0.6),
        "limited",
        f"{YET} only one reader could be compared with it. {AT} 61 % of the objects and this reader 60 %.",
    ),
    "one reader, better": (
        tabulate((60, 31, 6)),
        count(),
        "limited",
        f"{BELOW} the only reader compared with it. {AT} 31 % of the objects and this reader 60 %, "
        "clearly more.",
    ),
    "no reader": (
        tabulate((60, 31, 6)).iloc[:0],
        count(),
        "limited",
        f"{YET} no reader has the 30 objects that a comparison needs.",
    ),
    "readers of a handful of objects who agree with it": (
        tabulate((100, 100, 0, 3), (100, 100, 0, 5), (100, 100, 0, 29)),
        count(),
        "limited",
        f"{YET} no reader has the 30 objects that a comparison needs.",
    ),
    "too few objects for the comparison": (
        tabulate((60, 58, 14), (64, 60, 14), (55, 57, 14)),
        count(0.6),
        "unsure",
        "Too small to tell whether it keeps up with the median reader. At matched false positives it found 58 % of the "
        "objects and the median reader 60 %, but the detector may be up to 16 points behind. Do not rely on it yet.",
    ),
    "too small": (
        tabulate((60, 58, 4), (64, 63, 4), (55, 57, 4)),
        count(0.6, 0.2, 31),
        "unsure",
        "Too small to tell: with 31 consensus objects in unseen patients, the sensitivity may be 40 to 80 %. Do not "
        "rely on it yet.",
    ),
    "chance": (
        tabulate((60, 58, 4), (64, 63, 4), (55, 57, 4)),
        count(0.2),
        "bad",
        "Do not use: in unseen patients it is not better than chance.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_of_a_case_is_one_to_sign(case):
    points, counted, tone, sentence = CASES[case]
    told = answer(counted, points)
    assert give_answer(told).headline == sentence
    assert give_answer(told).tone == tone
    # One decision: the terminal and the section on use, which the model card repeats, say the same.
    assert sum_up(told)[0] == sentence
    assert ("Test it as a second reader" in tell_lines("use", told)[1]) == (tone == "good")


def test_margin_and_interval_are_stated():
    points, counted, _, _ = CASES["an outlier"]
    about = {part.about: part.text for part in give_answer(answer(counted, points)).parts}
    assert about["Against the readers"] == (
        "On the objects that at least two other readers marked, and at the same number of false positives, all four "
        "readers found 33 to 80 % and the detector 35 to 54 %. The detector's sensitivity minus that of the median "
        "reader (R3, 0.40 false positives per image) is -31 (-38 to -24) points, with the 95 % interval. The detector "
        "keeps up if this interval lies above -10 points; a reader found clearly more if the interval for that reader "
        "lies below 0."
    )


THREE = tabulate((60, 58, 6), (55, 57, 6), (62, 61, 6))


@pytest.mark.parametrize(
    ("counted", "grade"),
    [
        (count(0.6), "among readers"),
        (count(0.6, n_gts=19), "too small"),
        (count(0.6, float("nan")), "too small"),
    ],
)
def test_the_grade_fits_the_study(counted, grade):
    assert reach_verdict("soft", counted, THREE, (), 1.0, None).grade == grade


def test_numbers_are_those_of_the_operating_point():
    # Differences are -20, -5 and 2 points.
    readers = tabulate((90, 70, 4), (60, 55, 4), (70, 72, 4))
    size = StudySize(patients=90, images=1600, gts=800)
    verdict = reach_verdict("soft", count(0.8, 0.1), readers, (), 1.0, size)
    assert (verdict.sensitivity, verdict.fp_per_image, verdict.chance) == (0.8, 0.95, 0.17)
    assert (verdict.lower, verdict.upper) == pytest.approx((0.7, 0.9))
    assert (verdict.objects_needed, verdict.images_needed) == (800, 1600)
    assert (verdict.median_reader, verdict.n_readers, verdict.n_better, verdict.n_worse) == ("R2", 3, 2, 0)


@pytest.mark.parametrize(("n_readers", "median"), [(1, "R1"), (2, "R1"), (3, "R2"), (4, "R2"), (5, "R3")])
def test_of_two_readers_in_the_middle_the_one_further_ahead_is_the_median(n_readers, median):
    readers = tabulate(*[(sensitivity, 70, 4) for sensitivity in np.linspace(90, 50, n_readers)]).iloc[::-1]
    assert reach_verdict("soft", count(), readers, (), 1.0, None).median_reader == median


def test_without_an_interval_nothing_is_told():
    readers = tabulate((90, 65, np.nan), (60, 55, np.nan), (70, 72, np.nan))
    verdict = reach_verdict("soft", count(0.8, 0.05), readers, (), 1.0, None)
    assert (verdict.grade, verdict.n_better, verdict.n_worse) == ("undecided", 0, 0)


FIGURE = FigureComparison("wAFROC", 0.6, 0.7, 0.1, 0.02, 0.18, 0.95, 0.01, 0.01)
PAIR = ModelComparison(
    "soft", "b1", "ignore", MeanDifference(0.1, 0.02, 0.18, 0.01), pd.DataFrame(), (FIGURE,)
)


@pytest.mark.parametrize(
    ("name", "pair", "better"),
    [
        ("soft", PAIR, "b1"),
        ("b1", PAIR, None),
        ("soft", replace(PAIR, single_reader="fp"), None),
        ("soft", replace(PAIR, figures=(replace(FIGURE, p_permutation=0.2),)), None),
        ("soft", replace(PAIR, first="b1", second="soft"), None),
    ],
)
def test_a_better_model_is_named_only_if_it_is(name, pair, better):
    assert reach_verdict(name, count(), THREE, (pair,), 1.0, None).better_on_test == better

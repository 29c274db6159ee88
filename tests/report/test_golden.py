"""Pages and model cards compared whole with the files in ``golden``: that of a chest study, and what differs in others.

``pytest tests/report/test_golden.py --rewrite-golden`` writes the files anew; read what changed before it is committed.
"""

import difflib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.report import (
    Claims,
    Description,
    FoundFiles,
    Headline,
    Pictures,
    Quarantined,
    render_groups,
    render_study,
    sum_up,
    write_model_card,
)

GOLDEN = Path(__file__).parent / "golden"
PICTURE = {"region": {"kind": "field_of_view"}, "units": {"unit": "px"}, "hits": {"min_semi_axis": 15.0}}
GRADES = ("chance", "too few readers", "undecided", "below readers", "among readers")
NO_CLAIMS = Claims(None, None, None, None, None)
NO_READER = {"n_readers": 0, "median_reader": None}


def of_study(**changes):
    return lambda results: replace(
        results, study=replace(results.study, **{"is_simulated": False, **changes})
    )


def of_settings(**changes):
    unit = changes.get("units", {}).get("unit", "mm")
    return lambda results: replace(results, settings=results.settings | changes, unit=unit)


def of_verdict(**changes):
    return lambda results: replace(results, verdict=replace(results.verdict, **changes))


def of_models(**changes):
    return lambda results: replace(results, models=[replace(one, **changes) for one in results.models])


def make_nested(results):
    other = replace(results.models[1].counted[0], test=replace(results.models[1].counted[0].test, n_gts=77))
    headline = Headline("nested", ["soft", "noisy", "soft"], other)
    return replace(results, headline=headline, gallery=replace(results.gallery, threshold=-1.0))


def make_silent(results):
    nested = make_nested(results)
    return replace(nested, verdict=replace(results.verdict, sensitivity=0.0, fp_per_image=0.0))


def make_trees(results):
    """Leave the model that has neither weights nor a penalty."""
    judged = replace(results.verdict, model="noisy")
    gallery = replace(results.gallery, model="noisy")
    return replace(
        results,
        paper_choice=None,
        comparisons=[],
        claims=replace(NO_CLAIMS, weights=results.claims.weights),
        models=results.models[1:],
        supported="noisy",
        verdict=judged,
        gallery=gallery,
    )


def make_bare(results):
    """Leave out whatever a study may lack."""
    first = results.models[1]
    bare = [replace(one, chance=None, by_size=one.by_size.iloc[:0]) for one in first.counted]
    model = replace(first, counted=bare, features=[], reader_importance=pd.DataFrame())
    return replace(
        results,
        models=[model],
        supported=model.name,
        reader_points=results.reader_points.iloc[:0],
        verdict=replace(results.verdict, model=model.name, objects_needed=0, **NO_READER),
        comparisons=[],
        claims=NO_CLAIMS,
        paper_choice=None,
        examples=[],
        study=replace(
            results.study, quarantined=[], found=None, is_simulated=False, description=Description({}, {})
        ),
        subgroups=[],
        feature_examples=results.feature_examples.iloc[:0],
        readers=replace(results.readers, pairs=results.readers.pairs.iloc[:0]),
    )


def make_large(results):
    """Count 400 objects and no single-reader ones: fewer limits are told."""
    model = results.models[0]
    counted = model.counted[1]
    many = replace(counted, test=replace(counted.test, n_gts=400))
    return replace(results, models=[replace(model, counted=[many, many]), results.models[1]])


def make_empty(results):
    """Leave nothing to find, no interval, and a threshold that no score reaches."""
    model = results.models[0]
    counted = model.counted[0]
    locked = counted.locked.assign(lower=np.nan, upper=np.nan)
    none = replace(counted, test=replace(counted.test, n_gts=0), locked=locked)
    gallery = replace(
        results.gallery,
        threshold=np.inf,
        false_positives=results.gallery.false_positives.assign(is_nodule=False),
    )
    models = [replace(model, counted=[none, *model.counted[1:]]), *results.models[1:]]
    return replace(results, models=models, gallery=gallery)


VARIANTS = {
    "real": of_study(),
    "nothing_left_out": of_study(quarantined=[], found=FoundFiles(150, {}, 0, 0)),
    "skipped": of_study(
        found=None, quarantined=[Quarantined(f"i{n}", "image", f"reason {n}") for n in range(9)]
    ),
    "one_patient": of_study(fewest_readings=3, most_readings=3, n_patients=1),
    "own_tables": of_study(own_features=True, compared={"rows": 150}),
    "pixels_compared": of_study(compared={"pixels": 150}),
    "nothing_compared": of_study(compared={"": 150}),
    "picture": of_settings(**PICTURE),
    "picture_stain": of_settings(**PICTURE, images={"stain": [0.6, 0.7, 0.3]}),
    "marks_count": of_settings(labels={"score": "marks"}),
    "adjudicated": of_study(decisions={"lesion": 2, "not": 1, "unsure": 3, "open": 1}),
    "nested": make_nested,
    "nested_silent": make_silent,
    "ranks": of_models(score_map="rank", calibration=None, uncalibrated=None),
    "trees": make_trees,
    "bare": make_bare,
    "large": make_large,
    "empty": make_empty,
    **{grade.replace(" ", "_"): of_verdict(grade=grade) for grade in GRADES},
    "too_small_without_limits": of_verdict(grade="too small", lower=np.nan, upper=np.nan),
    "no_reader_compared": of_verdict(grade="too few readers", **NO_READER),
    "one_reader": of_verdict(grade="too few readers", n_readers=1, n_better=1),
    "enough": of_verdict(grade="among readers", objects_needed=0, better_on_test="noisy"),
    "more_needed": of_verdict(grade="among readers", objects_needed=3000, images_needed=1234),
}


def simplify(html: str) -> list[str]:
    """Lines of a page without what other tests look at: style, scripts, drawings and data in links."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", r"<\1/>", html, flags=re.DOTALL)
    text = re.sub(r'(href=")data:[^"]*', r"\1data:", text)
    return [line.strip() for line in text.replace("><", ">\n<").splitlines() if line.strip()]


def tell(results, figures, pictures, head) -> list[str]:
    """Lines of the page, of the card and of what a terminal says."""
    page = render_study(results, figures, pictures, head)
    return [*simplify(page), *write_model_card(results, head).splitlines(), *sum_up(results)]


def check(name: str, lines: list[str], config: pytest.Config, *, like: list[str] | None = None) -> None:
    """Compare lines, or where they differ from others, with a file."""
    if like is not None:
        changes = difflib.unified_diff(like, lines, lineterm="", n=0)
        lines = [line for line in list(changes)[2:] if not line.startswith("@@ -")]
    path, text = GOLDEN / name, "\n".join(lines) + "\n"
    if config.getoption("--rewrite-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chest(results, figures, pictures, head):
    return tell(results, figures, pictures, head)


def test_the_page_of_a_chest_study(chest, pytestconfig):
    check("chest.txt", chest, pytestconfig)


@pytest.mark.parametrize("name", VARIANTS)
def test_what_differs_in_other_studies(name, results, chest, figures, pictures, head, pytestconfig):
    other = VARIANTS[name](results)
    shown = ({}, Pictures()) if name == "bare" else (figures, pictures)
    lines = tell(other, *shown, head)
    assert not re.search(r"\bnan\b", " ".join(lines))
    check(f"{name}.diff", lines, pytestconfig, like=chest)


def test_the_page_of_two_groups(parts, page, pytestconfig):
    check("groups.diff", simplify(render_groups(parts, run="main")), pytestconfig, like=2 * simplify(page))

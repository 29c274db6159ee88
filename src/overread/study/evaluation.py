"""How good the models are: locked operating points first, then the test set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import Bags
from overread.froc import (
    MEASURES,
    Counting,
    Matching,
    bootstrap,
    calibration,
    chance_level,
    compare,
    estimate_figures,
    froc_curve,
    lesion_sizes_mm,
    operating_points,
    performance_table,
    sensitivity_by,
)
from overread.study.cohort import Part
from overread.study.results import Counted, Rows, SetResult, plain
from overread.study.settings import Settings

__all__ = ["TITLES", "Judged", "calibrated", "comparisons", "counted", "locked_points", "tables_1"]

TITLES = {"soft": "Soft", "b1": "B1", "b2": "B2"}
SOURCES = ("in_sample", "out_of_fold")
TREATMENTS = ("ignore", "fp")
BAND = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """One model's scores of the candidates, matched: in sample, out of fold, and on the test set."""

    training: Matching
    out_of_fold: Matching
    test: Matching

    @classmethod
    def of(cls, merged: Part, test: Part, scores: pd.DataFrame, name: str) -> Judged:
        """Take the columns ``name`` and ``name_out_of_fold`` of a table of scores."""
        inside = scores["image_id"].isin(merged.images["image_id"])
        return cls(
            merged.matching.with_scores(scores.loc[inside, name].to_numpy()),
            merged.matching.with_scores(scores.loc[inside, f"{name}_out_of_fold"].to_numpy()),
            test.matching.with_scores(scores.loc[~inside, name].to_numpy()),
        )

    def under(self, single_reader: str) -> Judged:
        """Return the same scores under a treatment of single-reader GTs."""
        parts = (self.training, self.out_of_fold, self.test)
        return Judged(*(part.with_counting(single_reader=single_reader) for part in parts))

    def source(self, name: str) -> Matching:
        """Return the matching that thresholds are taken from."""
        return self.training if name == "in_sample" else self.out_of_fold


def locked_points(judged: Mapping[str, Judged], settings: Settings) -> Rows:
    """Thresholds of every model, source and treatment at the FP targets; the test set has no say in them."""
    rows = []
    for name, treatment, source in itertools.product(judged, TREATMENTS, SOURCES):
        matching = judged[name].under(treatment).source(source)
        points = operating_points(matching, fp_targets=settings.evaluation.fp_targets).drop(columns="set")
        points.insert(0, "model", name)
        points.insert(1, "source", source)
        points.insert(2, "single_reader", treatment)
        rows.append(points.assign(data_sha256=matching.fingerprint()))
    return plain(pd.concat(rows, ignore_index=True))


def counted(
    judged: Judged, test: Part, scores: NDArray[np.float64], points: pd.DataFrame, settings: Settings
) -> list[Counted]:
    """Measure one model under both treatments, the study's own first.

    Parameters
    ----------
    judged
        The model's matchings.
    test
        Tables of the test set.
    scores
        The model's scores of the test set's candidates.
    points
        The model's rows of :func:`locked_points`.
    settings
        Of the study.
    """
    chosen = settings.hits.single_reader
    results = []
    for treatment in sorted(TREATMENTS, key=lambda name: name != chosen):
        part = judged.under(treatment)
        own = points[points["single_reader"] == treatment]
        chance = chance_level(
            test.candidates,
            test.truth,
            test.images,
            scores=scores,
            counting=Counting(rule=test.rule, single_reader=treatment),  # type: ignore[arg-type]
            fp_targets=settings.evaluation.fp_targets,
            n_shifts=settings.evaluation.chance_shifts,
            seed=settings.seed,
        )
        results.append(
            Counted(
                single_reader=treatment,  # type: ignore[arg-type]
                training=set_result(part.training, settings),
                out_of_fold=set_result(part.out_of_fold, settings),
                test=set_result(part.test, settings),
                locked=locked_results(part.test, own, settings),
                by_size=by_size(part.test, own, settings),
                chance=plain(chance.points),
                chance_reached=plain(chance.chance_reached),
            )
        )
    return results


def set_result(matching: Matching, settings: Settings) -> SetResult:
    """Curve, band and figures of merit of one set."""
    options = settings.evaluation
    grid = sorted({*BAND, *options.fp_targets})
    curve = froc_curve(matching)
    band = bootstrap(matching, fp_targets=grid, n_bootstrap=options.n_bootstrap, seed=settings.seed)
    intervals = band.intervals(options.level)
    return SetResult(
        n_images=curve.n_images,
        n_gts=curve.n_gts,
        n_gts_reached=curve.n_gts_reached,
        n_positive_images=curve.n_positive_images,
        n_positive_images_reached=curve.n_positive_images_reached,
        curve=plain(corners(curve.to_frame())),
        band=plain(intervals[intervals["measure"] != "fp_per_image"]),
        figures=figures(matching, settings),
    )


def corners(curve: pd.DataFrame) -> pd.DataFrame:
    """Points of a step curve where a sensitivity changes, the points before them, and both ends."""
    values = curve[list(MEASURES)].fillna(0.0).to_numpy()
    changes = np.zeros(len(curve), dtype=bool)
    changes[1:] = (np.diff(values, axis=0) != 0).any(axis=1)
    kept = changes.copy()
    kept[:-1] |= changes[1:]
    kept[[0, -1]] = True
    return curve[kept]


def figures(matching: Matching, settings: Settings) -> Rows:
    """Whole-curve figures of merit; none where there is nothing to find, or no image without a target."""
    n_positive = len(np.unique(matching.gt_images))
    if n_positive in (0, matching.n_images):
        return []
    options = settings.evaluation
    found = estimate_figures(
        matching, n_bootstrap=options.n_bootstrap, level=options.level, seed=settings.seed
    )
    return [plain(asdict(estimate)) for estimate in found]


def locked_results(test: Matching, points: pd.DataFrame, settings: Settings) -> Rows:
    """Test figures at locked thresholds."""
    options = settings.evaluation
    tables = []
    for source in SOURCES:
        own = points[points["source"] == source]
        thresholds = own["threshold"].astype("float64").fillna(np.inf).to_numpy()
        found = bootstrap(
            test, thresholds=thresholds, n_bootstrap=options.n_bootstrap, seed=settings.seed
        ).intervals(options.level)
        n_measures = len(found) // len(own)
        found["fp_target"] = np.tile(own["fp_target"].to_numpy(), n_measures)
        found.insert(0, "source", source)
        tables.append(found)
    return plain(pd.concat(tables, ignore_index=True))


def by_size(test: Matching, points: pd.DataFrame, settings: Settings) -> Rows:
    """Sensitivity by size of the GT at the out-of-fold operating points."""
    if not test.n_gts:
        return []
    options = settings.evaluation
    sizes = lesion_sizes_mm(test)
    bins = [*options.size_bins_mm]
    # Sizes beyond the last edge belong to the last bin; none may be lost.
    sizes = np.clip(sizes, bins[0], np.nextafter(bins[-1], 0))
    tables = []
    own = points[(points["source"] == "out_of_fold") & points["threshold"].notna()]
    for fp_target, threshold in zip(own["fp_target"], own["threshold"].astype("float64"), strict=True):
        table = sensitivity_by(
            test,
            sizes,
            threshold=threshold,
            bins=bins,
            n_bootstrap=options.n_bootstrap,
            level=options.level,
            seed=settings.seed,
        )
        table.insert(0, "fp_target", fp_target)
        tables.append(table)
    return plain(pd.concat(tables, ignore_index=True)) if tables else []


def tables_1(judged: Mapping[str, Judged], n_features: Mapping[str, int], settings: Settings) -> Rows:
    """Table 1 of the paper for each source of thresholds and each treatment."""
    options = settings.evaluation
    rows = []
    for treatment, source in itertools.product(TREATMENTS, SOURCES):
        parts = {TITLES[name]: one.under(treatment) for name, one in judged.items()}
        table = performance_table(
            {title: (one.training, one.test) for title, one in parts.items()},
            n_features={TITLES[name]: count for name, count in n_features.items()},
            thresholds_from=(
                {title: one.out_of_fold for title, one in parts.items()} if source == "out_of_fold" else None
            ),
            fp_targets=options.fp_targets,
            n_bootstrap=options.n_bootstrap,
            seed=settings.seed,
            level=options.level,
        )
        rows.append({"source": source, "single_reader": treatment, "table": plain(table)})
    return rows


def comparisons(judged: Mapping[str, Judged], settings: Settings) -> Rows:
    """Every two models on the test set under both treatments."""
    options = settings.evaluation
    tables = []
    for treatment, (first, second) in itertools.product(TREATMENTS, itertools.combinations(judged, 2)):
        table = compare(
            judged[first].under(treatment).test,
            judged[second].under(treatment).test,
            fp_targets=options.fp_targets,
            n_bootstrap=options.n_bootstrap,
            n_permutations=options.n_bootstrap,
            seed=settings.seed,
        ).table(options.level)
        # The models' names first: the table calls their sensitivities "first" and "second".
        table.insert(0, "second_model", second)
        table.insert(0, "first_model", first)
        table.insert(0, "single_reader", treatment)
        tables.append(table)
    return plain(pd.concat(tables, ignore_index=True)) if tables else []


def calibrated(model: Any, bags: Bags, labels: str, settings: Settings) -> dict[str, Any]:
    """Calibration on bags of the test set."""
    probabilities = np.clip(model.predict_proba(bags)[:, 1], 0.0, 1.0)
    found = calibration(
        probabilities,
        bags.labels,  # type: ignore[arg-type]
        patients=bags.groups,
        n_bootstrap=min(settings.evaluation.n_bootstrap, 500),
        seed=settings.seed,
        level=settings.evaluation.level,
    )
    return {"labels": labels, **plain(found)}

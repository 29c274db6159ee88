"""Shards become tables; models, scores and tables become the record of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.files.strict_json import read_json
from overread.models.persistence import load
from overread.models.tuning import count_features
from overread.study.cohort import KEYS, Cohort, Part
from overread.study.evaluation import TITLES, Judged, calibrated, comparisons, counted, tables_1
from overread.study.preparation import READER_TABLES
from overread.study.results import (
    SCHEMA,
    Choice,
    FeatureWeight,
    ModelResult,
    PartSummary,
    Quarantined,
    Readers,
    StudyResults,
    StudySummary,
    plain,
)
from overread.study.settings import Settings
from overread.study.store.manifest import Entry, shard_file
from overread.study.store.run_folder import RunFolder
from overread.study.store.shard import Shard, decode_shard

__all__ = ["gathered_candidates", "gathered_features", "object_table", "study_results"]


def shards(folder: RunFolder, entries: Iterable[Entry]) -> Iterable[tuple[str, Shard]]:
    """Shards of the images that have one, in the order of the manifest."""
    for entry in entries:
        if entry.sha256 is not None:
            yield entry.image_id, decode_shard(folder.path(shard_file(entry.image_id)).read_bytes())


def gathered_candidates(folder: RunFolder, entries: Iterable[Entry]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Candidates of all images, and one row of facts an image."""
    tables, facts = [], []
    for image_id, shard in shards(folder, entries):
        tables.append(shard.candidates.assign(image_id=image_id)[["image_id", *shard.candidates.columns]])
        facts.append({"image_id": image_id, **shard.facts})
    return pd.concat(tables, ignore_index=True), pd.DataFrame(facts)


def gathered_features(folder: RunFolder, entries: Iterable[Entry]) -> pd.DataFrame:
    """Features of all images: keys and one float32 column a feature, in one block of memory."""
    ids: list[str] = []
    images: list[str] = []
    blocks: list[NDArray[np.float32]] = []
    names: tuple[str, ...] | None = None
    for image_id, shard in shards(folder, entries):
        ids += shard.candidates["candidate_id"].tolist()
        images += [image_id] * len(shard.candidates)
        names = names or shard.feature_names
        if shard.feature_names != names:
            raise InvalidInputError(f"image {image_id!r} has other features than the images before it")
        blocks.append(shard.features)
    matrix = np.concatenate(blocks) if blocks else np.empty((0, 0), np.float32)
    table = pd.DataFrame(matrix, columns=names, copy=False)
    keys = pd.DataFrame({"image_id": images, "candidate_id": ids}, dtype="str")
    return pd.concat([keys, table], axis=1)


def object_table(cohort: Cohort, scores: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """GTs with their part, and for each model the best candidate on each and its score.

    ``reached`` says whether any candidate hits the GT. For a GT that none hits, candidate and score are missing.
    """
    geometry = cohort.matching.require_geometry()
    candidate, gt = geometry.hit_candidates, geometry.hit_truth
    split = cohort.images.set_index("image_id")["split"]
    table = cohort.truth.assign(split=cohort.truth["image_id"].map(split).astype("str"))
    table["reached"] = np.isin(np.arange(len(table)), gt)
    names = cohort.candidates["candidate_id"].to_numpy(object)
    for model in models:
        values = scores[model].to_numpy()
        order = np.lexsort((candidate, -values[candidate], gt))
        first = np.ones(len(order), dtype=bool)
        first[1:] = np.diff(gt[order]) != 0
        best = order[first]
        table[f"{model}_candidate"] = pd.Series(names[candidate[best]], index=gt[best], dtype="str").reindex(
            range(len(table))
        )
        table[f"{model}_score"] = pd.Series(values[candidate[best]], index=gt[best]).reindex(
            range(len(table))
        )
    return table


def study_results(
    folder: RunFolder,
    cohort: Cohort,
    judged: Mapping[str, Judged],
    quarantined: list[Quarantined],
    settings: Settings,
) -> StudyResults:
    """Gather every number of a run."""
    models = {name: load(folder.path(f"models/{name}.json")) for name in judged}
    merged, test = cohort.part("training", "validation"), cohort.part("test")
    options = settings.evaluation
    return StudyResults(
        schema_=SCHEMA,
        rule=cohort.rule.describe(),
        fp_targets=options.fp_targets,
        level=options.level,
        n_bootstrap=options.n_bootstrap,
        seed=settings.seed,
        study=summary(folder, cohort, quarantined),
        readers=Readers(*(plain(read(folder, name)) for name in READER_TABLES)),
        choice=choice_result(folder, settings) if "soft" in judged else None,
        models=[
            model_result(name, models[name], folder, judged[name], merged, test, settings) for name in judged
        ],
        table1=tables_1(judged, {name: count_features(model) for name, model in models.items()}, settings),
        comparisons=comparisons(judged, settings),
    )


def read(folder: RunFolder, name: str) -> pd.DataFrame:
    """Table of the run."""
    return pd.read_parquet(folder.path(f"tables/{name}.parquet"))


def summary(folder: RunFolder, cohort: Cohort, quarantined: list[Quarantined]) -> StudySummary:
    """Count what the study is made of."""
    images, readings, marks, truth = (read(folder, name) for name in ("images", "readings", "marks", "truth"))
    per_image = readings["image_id"].value_counts()
    return StudySummary(
        n_images=len(images),
        n_patients=int(images["patient_id"].nunique()),
        n_readers=int(readings["reader_id"].nunique()),
        n_readings=len(readings),
        n_marks=len(marks),
        n_objects=len(truth),
        n_golden=int(truth["golden"].sum()),
        n_features=cohort.features.shape[1] - len(KEYS),
        fewest_readings=int(per_image.min()),
        most_readings=int(per_image.max()),
        parts=[part_summary(name, cohort.part(name)) for name in ("training", "validation", "test")],
        quarantined=quarantined,
    )


def part_summary(name: str, part: Part) -> PartSummary:
    """Count what a part is made of."""
    golden = part.truth["golden"].astype(bool)
    return PartSummary(
        name=name,
        n_images=len(part.images),
        n_patients=int(part.images["patient_id"].nunique()),
        n_images_with_golden=int(part.truth.loc[golden, "image_id"].nunique()),
        n_objects=len(part.truth),
        n_golden=int(golden.sum()),
        n_golden_reached=int(part.matching.gt_reached.sum()),
        n_candidates=len(part.candidates),
    )


def choice_result(folder: RunFolder, settings: Settings) -> Choice:
    """Return the choice of lambda with the rule it was made by."""
    found = read_json(folder.path("choice.json"))
    soft = settings.soft
    found.pop("position")
    return Choice(
        **found,
        fp_targets=soft.choice_fp_targets,
        tolerance=soft.tolerance,
        max_gap=soft.max_gap,
        pick=soft.pick,
    )


def model_result(
    name: str,
    model: Any,
    folder: RunFolder,
    judged: Judged,
    merged: Part,
    test: Part,
    settings: Settings,
) -> ModelResult:
    """All that is known of one model."""
    points = pd.DataFrame(read_json(folder.path("operating_points.json")))
    labels = "soft" if name == "soft" else "golden"
    bags = test.soft_bags() if labels == "soft" else test.golden_bags()
    report = getattr(model, "fit_report_", None)
    is_mixture = hasattr(model, "reader_importance_")
    return ModelResult(
        name=name,
        title=TITLES[name],
        file=f"models/{name}.json",
        parameters=plain(model.get_params(deep=False)),
        n_features=count_features(model),
        intercept=float(model.intercept_[0]),
        features=weights(model, merged),
        converged=bool(model.converged_ if report is None else report.converged),
        certificate={} if report is None else plain(report),
        tuning=read_json(folder.path(f"tuning_{name}.json")),
        reader_importance=plain(model.reader_importance_) if is_mixture else [],
        left_out_readers=model.left_out_readers_ if is_mixture else {},
        calibration=calibrated(model, bags, labels, settings),
        counted=counted(judged, test, test.scores(model), points[points["model"] == name], settings),
    )


def weights(model: Any, merged: Part) -> list[FeatureWeight]:
    """Features that the model reads, the heaviest first; deviations are those of training + validation."""
    names = merged.features.columns.drop(KEYS)
    weight = np.asarray(model.coef_[0], dtype=np.float64)
    used = np.flatnonzero(weight)
    deviation = merged.features[list(names[used])].to_numpy(np.float64).std(axis=0)
    standardized = weight[used] * deviation
    order = np.argsort(-np.abs(standardized), kind="stable")
    return [FeatureWeight(str(names[used[i]]), float(weight[used[i]]), float(standardized[i])) for i in order]

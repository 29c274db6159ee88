"""The stages of a study: what each needs, what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd

from overread import __version__
from overread.bags import refuse_leakage
from overread.candidates import CANDIDATE_VERSION
from overread.errors import InvalidInputError
from overread.features import CATALOGUE, FEATURE_VERSION
from overread.files.digests import FileDigests, digest_of_bytes, digest_of_value
from overread.files.strict_json import read_json
from overread.models.persistence import load, model_bytes
from overread.report import study_page
from overread.study.assembly import gathered_candidates, gathered_features, object_table, study_results
from overread.study.cohort import KEYS, Cohort, Part, features_in_order
from overread.study.detector import detector_of
from overread.study.evaluation import Judged, locked_points
from overread.study.finished import FinishedRun
from overread.study.fits import (
    choose,
    fit_path,
    fit_soft,
    out_of_fold_scores,
    refuse_mixture_without_readers,
    tune_baseline,
)
from overread.study.image_stage import image_jobs, work_on_images
from overread.study.inputs import StudyInputs
from overread.study.pipeline import Pipeline
from overread.study.preparation import READER_TABLES, split_table, truth_tables
from overread.study.reporting import study_content
from overread.study.results import Quarantined, plain
from overread.study.settings import Settings
from overread.study.store.manifest import Entry, Manifest
from overread.study.store.run_folder import RunFolder, json_bytes
from overread.study.store.shard import CANDIDATE_COLUMNS
from overread.study.workers.executors import Executor
from overread.tables.table_files import parquet_bytes
from overread.truth.labels import reading_range

__all__ = ["Stages"]

EMPTY_FILE = digest_of_bytes(b"")
CODED = ("marks", "readings", "truth")


class Stages:
    """Work of a study, stage by stage; every stage says whether there was anything to do.

    Parameters
    ----------
    inputs
        The study's tables.
    settings
        Of the study.
    folder
        Of the run.
    """

    def __init__(self, inputs: StudyInputs, settings: Settings, folder: RunFolder) -> None:
        self._inputs, self._settings, self._folder = inputs, settings, folder
        self._image_digests: dict[str, str] = {}
        self._manifest: Manifest | None = None

    def truth(self) -> bool:
        """Merge marks into GTs; readers become codes."""
        inputs, settings = self._inputs, self._settings
        return self._folder.stage(
            "truth",
            needs={
                "marks": inputs.digests["marks"],
                "readings": inputs.digests.get("readings"),
                "settings": settings.plain()["merging"] | settings.plain()["labels"],
                "seed": settings.seed,
                "codes": digest_of_value(inputs.reader_codes),
            },
            gives=[f"tables/{name}.parquet" for name in (*CODED, *READER_TABLES)],
            make=lambda: truth_tables(inputs, settings),
        )

    def split(self) -> bool:
        """Divide the images by patient."""
        return self._folder.stage(
            "split",
            needs={
                "images": self._inputs.digests.get("images"),
                "truth": self._digest("truth"),
                "seed": self._settings.seed,
            },
            gives=["tables/images.parquet"],
            make=lambda: {
                "tables/images.parquet": parquet_bytes(
                    split_table(self._inputs, self._table("truth"), self._settings)
                )
            },
        )

    def images(
        self,
        executor: Executor,
        pipeline: Pipeline,
        *,
        advance: Callable[[int], None],
        say: Callable[[str], None],
    ) -> int:
        """Work on the images that are not done; return how many."""
        inputs = self._inputs
        digests = FileDigests(self._folder.path("file_digests.json"))
        given = inputs.candidates
        own = None if given is None else {str(name): rows for name, rows in given.groupby("image_id")}
        if own is not None:
            own = {name: rows[list(CANDIDATE_COLUMNS)].reset_index(drop=True) for name, rows in own.items()}
        jobs = image_jobs(inputs.images, inputs.folder, digests, pipeline, own)
        digests.save()
        self._refuse_leakage(
            {job.task.image_id: job.content for job in jobs if job.content not in (None, EMPTY_FILE)}
        )
        worked = work_on_images(self._folder, jobs, executor, advance=advance, say=say)
        self._manifest = worked.manifest
        if not any(entry.sha256 for entry in self._manifest.entries.values()):
            raise InvalidInputError(
                f"{inputs.folder}: not one of {len(jobs)} images could be worked on; see {self._folder.root}/run.log"
            )
        return worked.n_worked

    def after_images(self) -> Iterator[tuple[str, Callable[[], bool]]]:
        """Stages that follow the images, in order."""
        yield "candidates", self._candidates
        wanted = self._settings.models.wanted
        if "b2" in wanted:
            yield "b2_readers", self._b2_readers
        if "soft" in wanted:
            for normalization in self._settings.soft.normalizations:
                yield f"path_{normalization}", lambda name=normalization: self._path(name)  # type: ignore[misc]
            yield "choice", self._choice
        for name in wanted:
            yield name, self._soft if name == "soft" else lambda name=name: self._baseline(name)  # type: ignore[misc]
        for name in wanted:
            yield f"out_of_fold_{name}", lambda name=name: self._out_of_fold(name)  # type: ignore[misc]
        yield "scores", self._scores
        yield "operating_points", self._operating_points
        yield "results", self._results
        # A detector finds its own candidates, so it cannot be trained on others.
        if self._inputs.candidates is None and CATALOGUE.keys() >= set(self._first_model().feature_names_in_):
            yield "detector", self._detector
        yield "report", self._report

    def quarantined(self) -> list[Quarantined]:
        """Images that were given up."""
        return [
            Quarantined(entry.image_id, str(entry.fault_kind), str(entry.reason))
            for entry in self._entries.values()
            if entry.sha256 is None
        ]

    @property
    def _entries(self) -> dict[str, Entry]:
        return {} if self._manifest is None else self._manifest.entries

    def _refuse_leakage(self, hash_of_image: Mapping[str, str | None]) -> None:
        images = self._table("images")
        refuse_leakage(images.assign(pixel_hash=images["image_id"].map(hash_of_image)))

    def _candidates(self) -> bool:
        """Gather the candidates and the facts of all images."""
        return self._folder.stage(
            "candidates",
            needs={"images": self._content(), "split": self._digest("images")},
            gives=["tables/candidates.parquet", "tables/image_facts.parquet"],
            make=self._gather_candidates,
        )

    def _gather_candidates(self) -> Mapping[str, bytes]:
        if not self._inputs.needs_images:
            assert self._inputs.candidates is not None
            candidates, facts = self._inputs.candidates, self._table("images")[["image_id"]]
        else:
            candidates, facts = gathered_candidates(self._folder, self._entries.values())
            self._refuse_leakage(dict(zip(facts["image_id"], facts["pixel_hash"], strict=True)))
        return {
            "tables/candidates.parquet": parquet_bytes(candidates),
            "tables/image_facts.parquet": parquet_bytes(facts),
        }

    def _content(self) -> Any:
        """Say what candidates and features are made of: digests of shards, or of the tables brought along."""
        if not self._inputs.needs_images:
            return {kind: self._inputs.digests[kind] for kind in ("candidates", "features")}
        return [[entry.image_id, entry.sha256] for entry in self._entries.values()]

    def _common(self) -> dict[str, Any]:
        """All that bags depend on."""
        settings = self._settings.plain()
        return {
            "content": digest_of_value(self._content()),
            "tables": {name: self._digest(name) for name in (*CODED, "images")},
            "hits": settings["hits"],
            "labels": settings["labels"],
            "seed": self._settings.seed,
        }

    def _b2_readers(self) -> bool:
        """See that B2 can be fitted, before the other models take their time."""

        def check() -> Mapping[str, bytes]:
            refuse_mixture_without_readers(self._tables, self._settings)
            return {}

        needs = {"min_positives": self._settings.b2.min_positives, "folds": self._settings.models.folds}
        return self._folder.stage("b2_readers", needs={**self._common(), **needs}, gives=[], make=check)

    def _path(self, normalization: str) -> bool:
        file = f"models/path_{normalization}.json"
        soft = self._settings.soft
        return self._folder.stage(
            f"path_{normalization}",
            needs={
                **self._common(),
                "normalization": normalization,
                "grid": [soft.n_lambdas, soft.min_ratio, soft.divide_by_features],
            },
            gives=[file],
            make=lambda: {file: model_bytes(fit_path(self._part("training"), self._settings, normalization))},
        )

    def _choice(self) -> bool:
        names = self._settings.soft.normalizations
        soft = self._settings.plain()["soft"]
        return self._folder.stage(
            "choice",
            needs={
                **self._common(),
                "paths": [self._folder.digest(f"models/path_{name}.json") for name in names],
                "rule": {key: soft[key] for key in ("choice_fp_targets", "tolerance", "max_gap", "pick")},
                "n_bootstrap": self._settings.evaluation.n_bootstrap,
            },
            gives=["choice.json"],
            make=self._chosen,
        )

    def _chosen(self) -> Mapping[str, bytes]:
        names: list[str] = [*self._settings.soft.normalizations]
        paths = {name: load(self._folder.path(f"models/path_{name}.json")) for name in names}
        found = choose(paths, self._part("training"), self._part("validation"), self._settings)
        return {"choice.json": json_bytes(plain(found))}

    def _soft(self) -> bool:
        choice = read_json(self._folder.path("choice.json"))
        lam, normalization = choice["lam"], choice["normalization"]
        soft = self._settings.soft
        return self._folder.stage(
            "soft",
            needs={
                **self._common(),
                "choice": [lam, normalization],
                "fit": [soft.n_init, soft.divide_by_features],
            },
            gives=["models/soft.json", "tuning_soft.json"],
            make=lambda: {
                "models/soft.json": model_bytes(
                    fit_soft(self._part("training", "validation"), lam, normalization, self._settings)
                ),
                "tuning_soft.json": json_bytes([]),
            },
        )

    def _baseline(self, name: str) -> bool:
        settings = self._settings.plain()
        own = [settings["models"]["folds"], settings["evaluation"]["level"]] if name == "b2" else []
        return self._folder.stage(
            name,
            needs={
                **self._common(),
                "settings": settings[name],
                "fp_targets": settings["soft"]["choice_fp_targets"],
                "mixture": own,
            },
            gives=[f"models/{name}.json", f"tuning_{name}.json"],
            make=lambda: self._tuned(name),
        )

    def _tuned(self, name: str) -> Mapping[str, bytes]:
        merged = self._part("training", "validation")
        found = tune_baseline(name, self._part("training"), self._part("validation"), merged, self._settings)
        return {
            f"models/{name}.json": model_bytes(found.model),
            f"tuning_{name}.json": json_bytes(plain(found.table)),
        }

    def _out_of_fold(self, name: str) -> bool:
        model = load(self._folder.path(f"models/{name}.json"))
        if hasattr(model, "n_bootstrap"):
            model.set_params(n_bootstrap=0)
        file = f"tables/out_of_fold_{name}.parquet"
        return self._folder.stage(
            f"out_of_fold_{name}",
            needs={
                **self._common(),
                "parameters": plain(model.get_params(deep=False)),
                "folds": self._settings.models.folds,
            },
            gives=[file],
            make=lambda: {
                file: parquet_bytes(
                    out_of_fold_scores(
                        model, self._cohort, self._part("training", "validation"), self._settings
                    )
                )
            },
        )

    def _scores(self) -> bool:
        wanted = self._settings.models.wanted
        return self._folder.stage(
            "scores",
            needs={
                **self._common(),
                "models": {name: self._folder.digest(f"models/{name}.json") for name in wanted},
                "out_of_fold": {name: self._digest(f"out_of_fold_{name}") for name in wanted},
            },
            gives=["tables/scores.parquet", "tables/objects.parquet"],
            make=self._scored,
        )

    def _scored(self) -> Mapping[str, bytes]:
        cohort = self._cohort
        scores = cohort.candidates[KEYS].copy()
        for name in self._settings.models.wanted:
            scores[name] = cohort.scores(load(self._folder.path(f"models/{name}.json")))
            held_out = self._table(f"out_of_fold_{name}").rename(columns={"score": f"{name}_out_of_fold"})
            scores = scores.merge(held_out, on=KEYS, how="left", validate="one_to_one")
        return {
            "tables/scores.parquet": parquet_bytes(scores),
            "tables/objects.parquet": parquet_bytes(
                object_table(cohort, scores, self._settings.models.wanted)
            ),
        }

    def _operating_points(self) -> bool:
        return self._folder.stage(
            "operating_points",
            needs={
                **self._common(),
                "scores": self._digest("scores"),
                "fp_targets": self._settings.evaluation.fp_targets,
            },
            gives=["operating_points.json"],
            make=lambda: {"operating_points.json": json_bytes(locked_points(self._judged(), self._settings))},
        )

    def _judged(self) -> dict[str, Judged]:
        merged, test = self._tables.part("training", "validation"), self._tables.part("test")
        scores = self._table("scores")
        return {name: Judged.of(merged, test, scores, name) for name in self._settings.models.wanted}

    def _results(self) -> bool:
        wanted = self._settings.models.wanted
        files = ["operating_points.json", *(["choice.json"] if "soft" in wanted else [])]
        files += [f"{place}{name}.json" for name in wanted for place in ("models/", "tuning_")]
        return self._folder.stage(
            "results",
            needs={
                **self._common(),
                "files": {file: self._folder.digest(file) for file in files},
                "tables": {name: self._digest(name) for name in ("scores", *READER_TABLES, *CODED, "images")},
                "evaluation": self._settings.plain()["evaluation"],
                "quarantined": plain(self.quarantined()),
                "choice": self._settings.plain()["soft"],
            },
            gives=["results.json"],
            make=lambda: {
                "results.json": json_bytes(
                    plain(
                        study_results(
                            self._folder,
                            self._cohort,
                            self._judged(),
                            self.quarantined(),
                            self._settings,
                        )
                    )
                )
            },
        )

    def _report(self) -> bool:
        return self._folder.stage(
            "report",
            needs={
                "results": self._folder.digest("results.json"),
                "common": self._common(),
                "overread": __version__,
            },
            gives=["report.html"],
            make=lambda: {
                "report.html": study_page(study_content(FinishedRun(self._folder.root))).html().encode()
            },
        )

    def _first_model(self) -> Any:
        return load(self._folder.path(f"models/{self._settings.models.wanted[0]}.json"))

    def _detector(self) -> bool:
        name = self._settings.models.wanted[0]
        return self._folder.stage(
            "detector",
            needs={
                "model": self._folder.digest(f"models/{name}.json"),
                "points": self._folder.digest("operating_points.json"),
                "limit": self._settings.candidates.limit,
                "features": FEATURE_VERSION,
                "candidates": CANDIDATE_VERSION,
            },
            gives=["detector.json"],
            make=lambda: {"detector.json": detector_of(self._folder, name, self._settings).to_bytes()},
        )

    def _part(self, *names: str) -> Part:
        return self._cohort.part(*names)

    @cached_property
    def _cohort(self) -> Cohort:
        """All tables, without quarantined images."""
        if self._inputs.needs_images:
            features = gathered_features(self._folder, self._entries.values())
        else:
            assert self._inputs.features is not None
            features = features_in_order(self._inputs.features, self._tables.candidates)
        return replace(self._tables, features=features)

    @cached_property
    def _tables(self) -> Cohort:
        """All tables but the features, which are large: their keys stand for them."""
        images = self._table("images")
        images = images[~images["image_id"].isin([one.image_id for one in self.quarantined()])]
        tables = {
            name: (table := self._table(name))[table["image_id"].isin(images["image_id"])].reset_index(
                drop=True
            )
            for name in (*CODED, "candidates")
        }
        limits = reading_range(self._table("readings"), self._settings.label_options())
        return Cohort(
            images=images.reset_index(drop=True),
            features=tables["candidates"][KEYS],
            rule=self._settings.hits.hit_rule(),
            n_max=limits.n_max,
            single_reader=self._settings.hits.single_reader,
            **tables,
        )

    def _table(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self._folder.path(f"tables/{name}.parquet"))

    def _digest(self, name: str) -> str:
        return self._folder.digest(f"tables/{name}.parquet")

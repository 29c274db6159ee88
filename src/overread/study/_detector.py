"""A detector in one file: model, operating points, and all that turns an image into its scores.

The file is JSON with a checksum and no code; the same detector gives the same bytes::

    format    "overread-detector"
    schema    version of this layout, an integer
    sha256    of the payload in canonical form: sorted keys, no spaces
    payload   the fields of `Detector`, the model as `overread.models._saving` writes it
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.domains import (
    FINDERS,
    GENERIC_FEATURES,
    GENERIC_VERSION,
    FieldRecipe,
    PictureImage,
    Unit,
    find_mask,
    list_field_finders,
    load_finder,
)
from overread.errors import FormatError, InvalidInputError, ModelFileError, UsageError
from overread.features import CATALOGUE, FEATURE_VERSION, Anatomy
from overread.files import Seal, from_json, parse_json, read_capped, to_json, write_atomically
from overread.froc import non_max_suppression
from overread.images import GRID_MM, Radiograph, read_image
from overread.models import BagClassifier, LinearBagClassifier, from_document, to_document
from overread.study._calibration import ScoreCalibration, TrainingFingerprints
from overread.study._picture_pipeline import FieldPipeline
from overread.study._pipeline import OwnPipeline, measure_image
from overread.study.models import MODELS

SCHEMA = 3
SEAL = Seal({"format": "overread-detector", "schema": SCHEMA})
LARGEST_FILE = 2**28
CANDIDATE_COLUMNS = ("x_mm", "y_mm", "radius_mm")
# A file with a right checksum may still be forged: what its fields may be. The numbers are those of study.toml.
LONGEST_WORDS = {
    "name": 100,
    "trained_on": 1000,
    "verdict": 1000,
    "finder": 100,
    "candidate_version": 100,
    "feature_version": 100,
}
LARGEST_LIMIT, LARGEST_FP_TARGET = 10_000, 1000
# A nodule of 5 mm needs some pixels; a chest of 400 mm must not give more than 16 million.
SMALLEST_GRID_MM, LARGEST_GRID_MM = 0.1, 5.0


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold on the score, locked at this many false positives per image of training + validation.

    Attributes
    ----------
    fp_target, threshold
        False positives per image, and the score from which on candidates are shown.
    n_images, marks_per_image, marks_variance
        Images it was locked on, and mean and variance of the marks that it shows per image of them, hits and false
        positives alike, by scores out of fold; None in files that were made before detectors knew.
    """

    fp_target: float
    threshold: float
    n_images: int | None = None
    marks_per_image: float | None = None
    marks_variance: float | None = None

    def record(self) -> dict[str, float]:
        """Fields that are known; a file that was made without some is written back as it was."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a candidate has its score.

    Parameters
    ----------
    candidate
        Its row in what `Detector.detect` finds.
    all_candidates
        Of the image, as `Detector.detect` finds them.
    contributions
        feature, value, mean, contribution, the largest first; the last row is the constant: the score of the mean
        candidate. The contributions add up to the score.
    """

    candidate: pd.Series[Any]
    all_candidates: pd.DataFrame
    contributions: pd.DataFrame


@short_repr("name", "finder", "limit", "grid_mm", "operating_points", "trained_on")
@dataclass(frozen=True, eq=False)
class Detector:
    """A fitted model with everything that is needed to run it on a new image.

    Parameters
    ----------
    name
        Of the model: "Soft", "B1", ...
    model
        A model of bags, fitted on features of this package.
    score_map
        From its scores to probabilities, fitted out of fold.
    operating_points
        By rising number of false positives.
    finder, candidate_version
        Who looks for candidates, and the version it was fitted on; another version is refused.
    limit
        Most candidates of an image.
    grid_mm
        Grid on which the features were computed.
    feature_version
        Version of the features it was fitted on; another version is refused.
    repeats
        "suppress": of detections that lie on each other the strongest is shown; thresholds were locked so. "count":
        all are.
    trained_on
        What it was trained on, in words without names.
    field
        Of other pictures than chest radiographs: how they are read, searched and measured. They keep their own grid.
    verdict
        Whether it may be used, and how good it was in unseen patients of its study; empty in files that were made
        before detectors carried it.
    seen
        Fingerprints of the images it was trained on; None where it does not say.
    means
        Average of each of `features` over the candidates it was trained on; None where it does not say.

    Raises
    ------
    ModelFileError
        If it was trained on another version of the features or candidates, or a field makes no sense.
    """

    name: str
    model: BagClassifier
    score_map: ScoreCalibration
    operating_points: tuple[OperatingPoint, ...]
    finder: str
    candidate_version: str
    limit: int
    grid_mm: float
    feature_version: str
    repeats: str
    trained_on: str
    field: FieldRecipe | None = None
    verdict: str = ""
    seen: TrainingFingerprints | None = None
    means: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.finder not in (FINDERS if self.field is None else list_field_finders()):
            raise ModelFileError(
                f"the detector needs the candidate finder {self.finder!r}, which is not here"
            )
        finder = load_finder(self.finder) if self.field is None else self.field.who_finds
        for kind, own, ours in (
            ("features", self.feature_version, FEATURE_VERSION if self.field is None else GENERIC_VERSION),
            ("candidates", self.candidate_version, finder.version),
        ):
            if own != ours:
                raise ModelFileError(
                    f"the detector was trained on {kind} of version {own}, these are {ours}: train it again, or use "
                    "the version of overread that made it"
                )
        if self.repeats not in ("suppress", "count"):
            raise ModelFileError(f"repeats is {self.repeats!r}: neither suppress nor count")
        self._check_words()
        self._check_numbers()
        if not isinstance(self.model, BagClassifier) or not hasattr(self.model, "feature_names_in_"):
            raise ModelFileError("the model is not one of bags, fitted on named features")
        unknown = sorted(set(self.features) - self._known_features())
        if unknown:
            raise ModelFileError(
                f"the model needs {len(unknown)} features that are not ours, such as {unknown[0]}"
            )
        if self.means is not None and len(self.means) != len(self.features):
            raise ModelFileError(f"there are {len(self.means)} means of {len(self.features)} features")

    def _known_features(self) -> set[str]:
        return {*CATALOGUE} if self.field is None else {*self.field.feature_names}

    def _check_words(self) -> None:
        """Refuse a name that floods a screen or holds control characters: anybody can make a file with a checksum."""
        for field, longest in LONGEST_WORDS.items():
            text = getattr(self, field)
            if not isinstance(text, str) or not text.isprintable() or len(text) > longest:
                raise ModelFileError(f"{field} is not a line of at most {longest} printable characters")

    def _check_numbers(self) -> None:
        """Refuse limits, grids and operating points that no run of ours gives."""
        numbers = [
            self.grid_mm,
            *(part for point in self.operating_points for part in point.record().values()),
            *(self.means or ()),
        ]
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ModelFileError("grid_mm, an operating point or a mean is not a number that makes sense")
        for point in self.operating_points:
            known = (point.n_images, point.marks_per_image, point.marks_variance)
            sound = [number is not None and number >= 0 for number in known]
            if known != (None, None, None) and not (all(sound) and known[0]):
                raise ModelFileError("the marks per image of an operating point make no sense")
        if type(self.limit) is not int or not 1 <= self.limit <= LARGEST_LIMIT:
            raise ModelFileError(
                f"limit is {str(self.limit)[:20]}: not a whole number from 1 to {LARGEST_LIMIT:,}"
            )
        if not SMALLEST_GRID_MM <= self.grid_mm <= LARGEST_GRID_MM:
            raise ModelFileError(
                f"grid_mm is {self.grid_mm:g}: not {SMALLEST_GRID_MM:g} to {LARGEST_GRID_MM:g}"
            )
        targets = [0.0, *(point.fp_target for point in self.operating_points)]
        if any(after <= before for before, after in pairwise(targets)) or targets[-1] > LARGEST_FP_TARGET:
            raise ModelFileError(
                f"the operating points are not at rising numbers of false positives above 0, up to {LARGEST_FP_TARGET}"
            )

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the model looks at: the only ones that are computed."""
        names = np.asarray(self.model.feature_names_in_)
        return tuple(str(name) for name in names[self.model.support_])

    @property
    def unit(self) -> Unit:
        """Unit of its lengths."""
        return "mm" if self.field is None else self.field.unit

    @property
    def object_name(self) -> str:
        """What it finds, by name, for documents."""
        return "Nodule" if self.field is None else self.field.target

    def tell_feature(self, name: str) -> str:
        """Say what a feature is: its formula in words."""
        return CATALOGUE[name].formula if self.field is None else GENERIC_FEATURES[name]

    def was_trained_on(self, radiograph: Radiograph | PictureImage) -> bool | None:
        """Whether an image that shows the same was trained on, whatever its format; None where nobody can tell."""
        if self.seen is None or radiograph.pixel_hash is None:
            return None
        return radiograph.pixel_hash in self.seen

    def read_image(
        self,
        path: Path,
        *,
        mm_per_px: tuple[float, float] | None = None,
        masks: Path | None = None,
    ) -> Radiograph | PictureImage:
        """Read a file as the detector wants it: on its grid, or with its planes and region.

        Parameters
        ----------
        path
            The file.
        mm_per_px
            Size of a pixel (x, y) where the file does not state it.
        masks
            Folder of masks, where the detector's region comes from masks.
        """
        if self.field is None:
            return read_image(path, mm_per_px=mm_per_px, grid_mm=self.grid_mm)
        mask = None if masks is None or self.field.region != "masks" else find_mask(masks, path)
        return self.field.read(path, mm_per_px=mm_per_px, mask=mask)

    def operating_point(self, fp: float) -> OperatingPoint:
        """Return the operating point at this many false positives per image."""
        for point in self.operating_points:
            if abs(point.fp_target - fp) < 1e-9:
                return point
        known = ", ".join(f"{point.fp_target:g}" for point in self.operating_points)
        raise UsageError(
            f"no operating point is locked at {fp:g} false positives per image; there are {known}"
        )

    def shown(self, detections: pd.DataFrame, fp: float) -> NDArray[np.bool_]:
        """Whether each detection of one image is shown at the operating point, and lies on no stronger one."""
        strong = np.asarray(detections["score"] >= self.operating_point(fp).threshold)
        if self.repeats == "count":
            return strong
        x_mm, y_mm, radius_mm = detections[list(CANDIDATE_COLUMNS)].to_numpy().T
        return strong & non_max_suppression(
            np.zeros(len(detections)), x_mm, y_mm, radius_mm, detections["score"]
        )

    def detect(
        self,
        radiograph: Radiograph | PictureImage,
        *,
        candidates: pd.DataFrame | None = None,
        regions: Anatomy | None = None,
        n_threads: int | None = None,
    ) -> pd.DataFrame:
        """Candidates of an image with score and probability, by falling score.

        Parameters
        ----------
        radiograph
            As `read_image` gives it.
        candidates
            Candidates of another detector, with candidate_id, x_mm, y_mm, radius_mm; None: ours.
        regions
            Anatomy, where it is known already.
        n_threads
            Threads that compute features; None: as many as there are processors.

        Returns
        -------
        DataFrame
            candidate_id, x_mm, y_mm, radius_mm, score (log-odds), probability (missing where the study had too little
            to calibrate with), rank (by score in this image, from 1).
        """
        scored = self._scored(*self._measured(radiograph, candidates, regions, n_threads))
        return scored.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def explain(self, radiograph: Radiograph | PictureImage, candidate_id: str | None = None) -> Explanation:
        """Contribution of each feature to one candidate's score.

        The score is sum_j w_j (x_j - mean_j) + score of the mean candidate; mean_j is that of training. The weights of
        a mixture of readers are those of the whole mixture, which is a weighted sum of features as well.

        Parameters
        ----------
        radiograph
            As `read_image` gives it.
        candidate_id
            As in `detect`, with or without the zeros in front; None: the candidate with the highest score.

        Raises
        ------
        InvalidInputError
            If the image has no candidates, the model is not a weighted sum of features, or the detector does not know
            their averages.
        UsageError
            If it has none of this id.
        """
        if not isinstance(self.model, LinearBagClassifier):
            raise InvalidInputError(
                f"{self.name} is not a weighted sum of features, so its scores have no parts to show"
                " (train a study whose first model is soft, b1 or b2)"
            )
        table, values = self._measured(radiograph)
        if table.empty:
            raise InvalidInputError("there is no candidate in this image, so there is nothing to explain")
        scored = self._scored(table, values)
        row = int(scored["score"].argmax())
        if candidate_id is not None:
            wanted = candidate_id.lstrip("0")
            rows = np.flatnonzero(scored["candidate_id"].str.lstrip("0") == wanted)
            if not len(rows):
                known = ", ".join(scored["candidate_id"].head(5))
                raise UsageError(f"no candidate {candidate_id!r} in this image; there are {known}, ...")
            row = int(rows[0])
        parts = self._contributions(self.model, values.iloc[row].to_numpy(np.float64))
        ranked = scored.sort_values("score", ascending=False, kind="stable", ignore_index=True)
        return Explanation(scored.iloc[row], ranked, parts)

    def _contributions(self, model: LinearBagClassifier, x: NDArray[np.float64]) -> pd.DataFrame:
        """List what each feature of a candidate adds to the score of the mean candidate, the largest first."""
        weights, means = model.coef_[0][model.support_], self._find_means()
        parts = pd.DataFrame(
            {"feature": self.features, "value": x, "mean": means, "contribution": weights * (x - means)}
        )
        parts = parts.iloc[np.argsort(-parts["contribution"].abs().to_numpy(), kind="stable")]
        average = float(weights @ means + model.intercept_[0])
        rest = pd.DataFrame(
            {"feature": ["mean candidate"], "value": np.nan, "mean": np.nan, "contribution": average}
        )
        return pd.concat([parts, rest], ignore_index=True)

    def _find_means(self) -> NDArray[np.float64]:
        """Find the averages of the features in training."""
        if self.means is not None:
            return np.array(self.means, dtype=np.float64)
        # Of a file made before detectors carried them: Soft and B1 were standardized by these averages.
        centre = getattr(self.model, "mean_", None)
        if centre is None:
            raise InvalidInputError(
                f"this {self.name} detector does not know the averages of its features in training, because an earlier "
                "version made it: run its study again"
            )
        return np.asarray(centre, dtype=np.float64)[self.model.support_]

    def _measured(
        self,
        radiograph: Radiograph | PictureImage,
        candidates: pd.DataFrame | None = None,
        regions: Anatomy | None = None,
        n_threads: int | None = None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Candidates, and the features that the model looks at, in the same order."""
        if self.field is not None:
            assert isinstance(radiograph, PictureImage)
            found, values = self.field.measure(
                radiograph, self.features, limit=self.limit, candidates=candidates
            )
            return found, values[list(self.features)]
        assert isinstance(radiograph, Radiograph)
        if abs(radiograph.mm_per_px - self.grid_mm) > 1e-9:
            raise InvalidInputError(
                f"the radiograph has a grid of {radiograph.mm_per_px:g} mm, the detector one of {self.grid_mm:g} mm: "
                f"read it with grid_mm={self.grid_mm:g}"
            )
        found, values = measure_image(
            radiograph,
            self.features,
            finder=load_finder(self.finder),
            limit=self.limit,
            candidates=candidates,
            regions=regions,
            n_threads=n_threads,
        )
        return found, values[list(self.features)]

    def _scored(self, candidates: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
        """Candidates with score, probability and rank, in their order."""
        score = self.model.decision_on_support(values.to_numpy(np.float64))
        mapped = self.score_map.apply(score)
        return candidates[["candidate_id", *CANDIDATE_COLUMNS]].assign(
            score=score,
            probability=mapped if self.score_map.is_probability else np.nan,
            rank=pd.Series(score, index=candidates.index)
            .rank(ascending=False, method="first")
            .astype("int64"),
        )

    def write(self, path: Path) -> Path:
        """Write the file: whole, or not at all."""
        return write_atomically(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the bytes of the file; the same detector gives the same."""
        payload = {
            "name": self.name,
            "model": to_document(self.model),
            "score_map": to_json(self.score_map),
            "operating_points": [point.record() for point in self.operating_points],
            "finder": self.finder,
            "candidate_version": self.candidate_version,
            "limit": self.limit,
            "grid_mm": self.grid_mm,
            "feature_version": self.feature_version,
            "repeats": self.repeats,
            "trained_on": self.trained_on,
            # A file that was made without a verdict or means is written back as it was.
            **({"verdict": self.verdict} if self.verdict else {}),
            "seen": None if self.seen is None else asdict(self.seen),
            **({} if self.means is None else {"means": list(self.means)}),
        }
        if self.field is not None:
            payload["field"] = to_json(self.field)
        return SEAL.spell(SEAL.close(payload))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that is exactly what `write` wrote.

        Raises
        ------
        ModelFileError
            If it is damaged, of another schema, or was trained on another version of the features or candidates.
        """
        return cls.from_bytes(_content_of(path), str(path))

    @classmethod
    def from_bytes(cls, content: bytes, path: str) -> Self:
        """Detector of the bytes of a file; errors name it by its path."""
        document = parse_json(content, path, error=ModelFileError)
        broken = SEAL.broken_key(document)
        if broken == "format":
            raise ModelFileError(f"{path}: is not a detector saved by overread")
        if broken == "schema":
            raise ModelFileError(
                f"{path}: has schema {document.get('schema')!r}; this version reads {SCHEMA}: train the detector again"
            )
        payload = SEAL.payload(document)
        if broken is not None or not isinstance(payload, dict):
            raise ModelFileError(f"{path}: was changed after it was saved: the checksum does not match")
        try:
            return cls(
                name=payload["name"],
                model=from_document(payload["model"], path),
                score_map=from_json(ScoreCalibration, payload["score_map"], "score_map"),
                operating_points=tuple(OperatingPoint(**point) for point in payload["operating_points"]),
                finder=payload["finder"],
                candidate_version=payload["candidate_version"],
                limit=payload["limit"],
                grid_mm=payload["grid_mm"],
                feature_version=payload["feature_version"],
                repeats=payload["repeats"],
                trained_on=payload["trained_on"],
                field=from_json(FieldRecipe, payload["field"], "field") if "field" in payload else None,
                verdict=payload.get("verdict", ""),
                # Written since detectors know their images; older ones do not say.
                seen=None if payload.get("seen") is None else TrainingFingerprints.read(payload["seen"]),
                means=tuple(payload["means"]) if "means" in payload else None,
            )
        except (KeyError, TypeError, FormatError) as error:
            raise ModelFileError(f"{path}: a field is missing or of the wrong kind: {error}") from error
        except (InvalidInputError, UsageError) as error:
            raise ModelFileError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _content_of(path: Path) -> bytes:
    """Bytes of a detector's file within the cap."""
    try:
        return read_capped(
            path,
            LARGEST_FILE,
            lambda _: ModelFileError(f"{path}: larger than {LARGEST_FILE} bytes; this is no detector"),
        )
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise ModelFileError(
            f"{path}: there is no such file (overread run STUDY writes STUDY/runs/main/detector.json)"
        ) from None


def make_detector(
    name: str,
    model: Any,
    score_map: ScoreCalibration,
    points: Sequence[Mapping[str, Any]],
    pipeline: OwnPipeline | FieldPipeline,
    counting: Any,
    trained_on: str,
    verdict: str,
    seen: TrainingFingerprints,
    means: Iterable[float],
) -> Detector:
    """Make the detector of a model, with its out-of-fold operating points.

    Parameters
    ----------
    name, model, score_map
        Name in the registry of models, the fitted model, and the map from its scores to probabilities.
    points
        Locked operating points of a run.
    pipeline
        What gave the candidates and features that the model was fitted to.
    counting
        Under which the points were locked: ``single_reader`` and ``repeats``.
    trained_on, verdict
        In words without names.
    seen, means
        Fingerprints of the images that the model was fitted to, and the averages of the features that it looks at over
        their candidates.
    """
    wanted = (name, "out_of_fold", counting.single_reader)
    own = [
        _read_point(point)
        for point in points
        if (point["model"], point["source"], point["single_reader"]) == wanted
        and point["threshold"] is not None
    ]
    return Detector(
        name=MODELS[name].title,
        model=model,
        score_map=score_map,
        operating_points=tuple(sorted(own, key=lambda point: point.fp_target)),
        finder=pipeline.finder.name,
        candidate_version=pipeline.finder.version,
        limit=pipeline.limit,
        grid_mm=GRID_MM,
        feature_version=GENERIC_VERSION if isinstance(pipeline, FieldPipeline) else FEATURE_VERSION,
        repeats=counting.repeats,
        trained_on=trained_on,
        field=pipeline.recipe if isinstance(pipeline, FieldPipeline) else None,
        verdict=verdict,
        seen=seen,
        means=tuple(means),
    )


def _read_point(point: Mapping[str, Any]) -> OperatingPoint:
    known: dict[str, Any] = {field.name: point.get(field.name) for field in fields(OperatingPoint)}
    return OperatingPoint(**known)

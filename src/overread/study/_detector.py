"""A detector in one file: model, operating points, and all that turns an image into its scores.

The file is JSON with a checksum and no code; the same detector gives the same bytes::

    format    "overread-detector"
    schema    version of this layout, an integer
    sha256    of the payload in canonical form: sorted keys, no spaces
    payload   the fields of `Detector`, the model as `overread.models._saving` writes it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.domains import (
    Domain,
    DomainImage,
    domain_from_record,
    find_mask,
    measure_image,
    refuse_other_versions_of,
)
from overread.errors import FormatError, InvalidInputError, ModelFileError, UsageError
from overread.files import Seal, from_json, later, parse_json, read_capped, to_json, write_atomically
from overread.froc import OPERATING_FP, nearest_to, non_max_suppression
from overread.models import BagClassifier, LinearBagClassifier, from_document, to_document
from overread.study._calibration import ScoreCalibration, TrainingFingerprints
from overread.tables import LengthUnit, named, plain

SCHEMA = 3
SEAL = Seal({"format": "overread-detector", "schema": SCHEMA})
LARGEST_FILE = 2**28
CANDIDATE_COLUMNS = ("x", "y", "radius")
# A file with a right checksum may still be forged: what its fields may be. The numbers are those of study.toml.
LONGEST_WORDS = {"name": 100, "trained_on": 1000, "verdict": 1000}
LARGEST_LIMIT, LARGEST_FP_TARGET = 10_000, 1000


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold on the score, locked at this many false positives per image of training + validation.

    The others are images it was locked on, and mean and variance of the marks that it shows per image of them, hits and
    false positives alike, by scores out of fold; None in files that were made before detectors knew.
    """

    fp_target: float
    threshold: float
    n_images: int | None = later(None)
    marks_per_image: float | None = later(None)
    marks_variance: float | None = later(None)

    def record(self) -> dict[str, float]:
        """Fields that are known."""
        known: dict[str, float] = to_json(self)
        return known


@short_repr()
@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a candidate has its score: its row, all candidates of the image, and contributions that add up to the score.

    The contributions have feature, value, mean and contribution, the largest first; the last row is the constant: the
    score of the mean candidate.
    """

    candidate: pd.Series[Any]
    all_candidates: pd.DataFrame
    contributions: pd.DataFrame


@short_repr("name", "domain", "limit", "operating_points", "trained_on")
@dataclass(frozen=True, eq=False)
class Detector:
    """A fitted model with all that a new image needs.

    Parameters
    ----------
    name : str
        Name of the model: "Soft", "B1", ...
    model : BagClassifier
        A model of bags, fitted on features of this package.
    score_map : ScoreCalibration
        From its scores to probabilities, fitted out of fold.
    operating_points : tuple
        By rising number of false positives.
    domain : Domain
        Kind of its images: how they are read, searched and measured.
    limit : int
        Most candidates of an image.
    repeats : str
        "suppress": of detections that lie on each other the strongest is shown; thresholds were locked so. "count":
        all are.
    trained_on : str
        What it was trained on, in words without names.
    verdict : str, default=''
        Whether it may be used, and how good it was in unseen patients of its study; empty in files that were made
        before detectors carried it.
    seen : TrainingFingerprints, optional
        Fingerprints of the images it was trained on; None where it does not say.
    means : tuple, optional
        Average of each of `features` over the candidates it was trained on; None where it does not say.
    operating_fp : float, optional
        Default number of false positives per image; None if the file does not set it.

    Raises
    ------
    ModelFileError
        If a field makes no sense.
    """

    name: str
    model: BagClassifier
    score_map: ScoreCalibration
    operating_points: tuple[OperatingPoint, ...]
    domain: Domain
    limit: int
    repeats: str
    trained_on: str
    verdict: str = ""
    seen: TrainingFingerprints | None = None
    means: tuple[float, ...] | None = later(None)
    operating_fp: float | None = later(None)

    def __post_init__(self) -> None:
        if self.repeats not in ("suppress", "count"):
            raise ModelFileError(f"repeats is {self.repeats!r}: neither suppress nor count")
        self._check_words()
        self._check_numbers()
        if not isinstance(self.model, BagClassifier) or not hasattr(self.model, "feature_names_in_"):
            raise ModelFileError("the model is not one of bags, fitted on named features")
        unknown = sorted(set(self.features) - set(self.domain.feature_names))
        if unknown:
            raise ModelFileError(
                f"the model needs {len(unknown)} features that are not ours, such as {unknown[0]}"
            )
        if self.means is not None and len(self.means) != len(self.features):
            raise ModelFileError(f"there are {len(self.means)} means of {len(self.features)} features")

    def _check_words(self) -> None:
        """Refuse a name that floods a screen or holds control characters: anybody can make a file with a checksum."""
        for field, longest in LONGEST_WORDS.items():
            text = getattr(self, field)
            if not isinstance(text, str) or not text.isprintable() or len(text) > longest:
                raise ModelFileError(f"{field} is not a line of at most {longest} printable characters")

    def _check_numbers(self) -> None:
        """Refuse limits and operating points that no run of ours gives."""
        numbers = [
            *(part for point in self.operating_points for part in point.record().values()),
            *(self.means or ()),
            *([] if self.operating_fp is None else [self.operating_fp]),
        ]
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ModelFileError("an operating point or a mean is not a number that makes sense")
        for point in self.operating_points:
            known = (point.n_images, point.marks_per_image, point.marks_variance)
            sound = [number is not None and number >= 0 for number in known]
            if known != (None, None, None) and not (all(sound) and known[0]):
                raise ModelFileError("the marks per image of an operating point make no sense")
        if type(self.limit) is not int or not 1 <= self.limit <= LARGEST_LIMIT:
            raise ModelFileError(
                f"limit is {str(self.limit)[:20]}: not a whole number from 1 to {LARGEST_LIMIT:,}"
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
    def unit(self) -> LengthUnit:
        """Unit of its lengths."""
        return self.domain.unit

    def was_trained_on(self, radiograph: DomainImage) -> bool | None:
        """Whether the same image content was used for training, in any format; None if unknown."""
        if self.seen is None or radiograph.pixel_hash is None:
            return None
        return radiograph.pixel_hash in self.seen

    def read_image(
        self, path: Path, *, mm_per_px: tuple[float, float] | None = None, masks: Path | None = None
    ) -> DomainImage:
        """Read a file as its domain does.

        Parameters
        ----------
        path : Path
            The file.
        mm_per_px : tuple, optional
            Size of a pixel (x, y) where the file does not state it.
        masks : Path, optional
            Folder of masks, where the detector's region comes from masks.
        """
        mask = find_mask(masks, path) if masks is not None and self.domain.needs_masks else None
        return self.domain.read(path, mm_per_px=mm_per_px, mask=mask)

    def operating_point(self, fp: float | None = None) -> OperatingPoint:
        """Return the operating point at this many false positives per image; without a number, its own."""
        if fp is None:
            targets = [point.fp_target for point in self.operating_points]
            fp = nearest_to(self.operating_fp or OPERATING_FP, targets or [OPERATING_FP])
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
        places = plain(detections, self.unit, "detections")[0][list(CANDIDATE_COLUMNS)]
        x, y, radius = places.to_numpy().T
        return strong & non_max_suppression(np.zeros(len(detections)), x, y, radius, detections["score"])

    def detect(
        self,
        radiograph: DomainImage,
        *,
        candidates: pd.DataFrame | None = None,
        regions: object = None,
        n_threads: int | None = None,
    ) -> pd.DataFrame:
        """Candidates of an image with score and probability, by falling score.

        Parameters
        ----------
        radiograph : DomainImage
            As `read_image` gives it.
        candidates : DataFrame, optional
            Candidates of another detector, with candidate_id, x_mm, y_mm, radius_mm (or in the unit of the detector);
            None: ours.
        regions : object, optional
            What the domain finds in the image first, where it is known already: the anatomy of a chest.
        n_threads : int, optional
            Threads that compute features; None: as many as there are processors.

        Returns
        -------
        DataFrame
            candidate_id, x_mm, y_mm, radius_mm (or _px, _percent: the unit of the detector), score (log-odds),
            probability (missing where the study had too little to calibrate with), rank (by score in this image, from
            1).
        """
        scored = self._scored(*self._measured(radiograph, candidates, regions, n_threads))
        return named(
            scored.sort_values("score", ascending=False, kind="stable", ignore_index=True), self.unit
        )

    def explain(self, radiograph: DomainImage, candidate_id: str | None = None) -> Explanation:
        """Contribution of each feature to one candidate's score.

        The score is sum_j w_j (x_j - mean_j) + score of the mean candidate; mean_j is that of training. The weights of
        a mixture of readers are those of the whole mixture, which is a weighted sum of features as well.

        Parameters
        ----------
        radiograph : DomainImage
            As `read_image` gives it.
        candidate_id : str, optional
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
        scored = named(scored, self.unit)
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
        radiograph: DomainImage,
        candidates: pd.DataFrame | None = None,
        regions: object = None,
        n_threads: int | None = None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Candidates, and the features that the model looks at, in the same order."""
        self.domain.check_image(radiograph)
        found, values = measure_image(
            self.domain,
            radiograph,
            self.features,
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
        # Keys in the order of the first files of this schema; what else a domain has to say comes last.
        own = self.domain.to_record()
        payload = {
            "name": self.name,
            "model": to_document(self.model),
            "score_map": to_json(self.score_map),
            "operating_points": [point.record() for point in self.operating_points],
            **{name: own.pop(name) for name in ("finder", "candidate_version")},
            "limit": self.limit,
            **{name: own.pop(name) for name in ("grid_mm", "feature_version")},
            "repeats": self.repeats,
            "trained_on": self.trained_on,
            # A file that was made without a verdict or means is written back as it was.
            **({"verdict": self.verdict} if self.verdict else {}),
            "seen": to_json(self.seen),
            **({} if self.means is None else {"means": list(self.means)}),
            **({} if self.operating_fp is None else {"operating_fp": self.operating_fp}),
            **own,
        }
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
            domain = domain_from_record(payload)
            refuse_other_versions_of(domain, payload)
            return cls(
                name=payload["name"],
                model=from_document(payload["model"], path),
                score_map=from_json(ScoreCalibration, payload["score_map"], "score_map"),
                operating_points=from_json(
                    tuple[OperatingPoint, ...], payload["operating_points"], "operating_points"
                ),
                domain=domain,
                limit=payload["limit"],
                repeats=payload["repeats"],
                trained_on=payload["trained_on"],
                verdict=payload.get("verdict", ""),
                # Written since detectors know their images; older ones do not say.
                seen=None
                if payload.get("seen") is None
                else from_json(TrainingFingerprints, payload["seen"], "seen"),
                means=from_json(tuple[float, ...], payload["means"], "means") if "means" in payload else None,
                operating_fp=payload.get("operating_fp"),
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
            lambda _: ModelFileError(f"{path}: larger than {LARGEST_FILE} bytes; this is not a detector"),
        )
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise ModelFileError(
            f"{path}: there is no such file (overread run STUDY writes STUDY/runs/main/detector.json)"
        ) from None

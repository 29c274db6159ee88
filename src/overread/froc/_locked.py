"""A locked operating point: threshold, rule and data hash, written before the test set is scored."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from overread import __version__
from overread._text import short_repr
from overread.errors import FormatError, InvalidInputError, LeakageError
from overread.files import Seal, digest_of_value, parse_json, read_regular, write_atomically
from overread.froc._bootstrap import bootstrap
from overread.froc._curve import operating_points
from overread.froc._defaults import LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching

SCHEMA = "overread.locked-operating-point/2"
SEAL = Seal({"schema": SCHEMA}, digest_key="checksum", payload_key=None, indent=2)


@short_repr("model", "threshold", "fp_target", "fp_per_image", "n_images", "n_gts")
@dataclass(frozen=True, slots=True, kw_only=True)
class LockedOperatingPoint:
    """An operating point fixed before the test: threshold, its results on the training data, and the hit rule.

    ``data_sha256`` is the fingerprint of the matching it came from. By the hashes of ids of its images and patients a
    test that shares any of them is refused; they are empty where the matching knows no ids.
    """

    model: str
    threshold: float
    fp_target: float
    fp_per_image: float
    gt_sensitivity: float | None
    image_sensitivity: float | None
    rule: dict[str, Any] | None
    options: dict[str, str]
    data_sha256: str
    n_images: int
    n_gts: int
    image_hashes: tuple[str, ...]
    patient_hashes: tuple[str, ...]
    versions: dict[str, str]
    written_at: str

    def write(self, path: Path | str) -> str:
        """Write the file, never over an existing one, and return its checksum, which evaluations cite."""
        document = SEAL.close(asdict(self))
        try:
            write_atomically(path, SEAL.spell(document), exclusive=True)
        except FileExistsError:
            raise InvalidInputError(
                f"{path}: exists; a locked operating point is never overwritten"
            ) from None
        return str(document["checksum"])

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file that :meth:`write` wrote; anything else is a :class:`~overread.errors.FormatError`."""
        fault = f"{path}: not a locked operating point"
        record = parse_json(read_regular(Path(path)), fault)
        try:
            return cls(**_check_record(record, {field.name for field in fields(cls)}))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{fault}: {error}") from None

    @property
    def checksum(self) -> str:
        """SHA-256 of the content, as in the file."""
        return digest_of_value(asdict(self))

    def evaluate(
        self, test: Matching, *, n_bootstrap: int = N_BOOTSTRAP, level: float = LEVEL, seed: int = 0
    ) -> LockedEvaluation:
        """Score a test set at the locked threshold, which the bootstrap keeps fixed.

        Refuses a test that was matched by another rule or other options, the very data of the lock, and a test with
        an image or a patient of the lock.
        """
        rule, options = test.counting.rule_record(), test.counting.option_record()
        if rule != self.rule or options != self.options:
            raise InvalidInputError(
                f"the test was matched by {rule}, {options}, "
                f"but the operating point was locked for {self.rule}, {self.options}"
            )
        fingerprint = test.fingerprint()
        if fingerprint == self.data_sha256:
            raise LeakageError("the operating point was locked on these very data: they cannot be its test")
        for kind, own, others in zip(
            ("images", "patients"), (self.image_hashes, self.patient_hashes), test.hash_members(), strict=True
        ):
            if shared := len(set(own) & set(others)):
                raise LeakageError(
                    f"the test shares {shared} of its {len(others)} {kind} with the data the operating point was "
                    "locked on: take them out of one of the two"
                )
        result = bootstrap(test, thresholds=[self.threshold], n_bootstrap=n_bootstrap, seed=seed)
        return LockedEvaluation(
            lock_checksum=self.checksum,
            locked_at=self.written_at,
            evaluated_at=_utc_now(),
            data_sha256=fingerprint,
            threshold=self.threshold,
            intervals=result.intervals(level),
        )


@short_repr("threshold", "locked_at", "evaluated_at", "intervals")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LockedEvaluation:
    """Test figures at a locked threshold, with the checksum of the lock that they cite.

    ``intervals`` has one row each for FP per image and the four sensitivities: estimate, lower, upper.
    """

    lock_checksum: str
    locked_at: str
    evaluated_at: str
    data_sha256: str
    threshold: float
    intervals: pd.DataFrame


def lock_operating_point(source: Matching, *, fp_target: float, model: str = "score") -> LockedOperatingPoint:
    """Fix the threshold of one FP target on training data; then :meth:`~LockedOperatingPoint.write` it."""
    point = operating_points(source, fp_targets=[fp_target]).iloc[0]
    if not (len(source.fp_scores) or source.targets().findable.any()):
        raise InvalidInputError("there is no score to lock: no candidate is a hit or a false positive")
    if not np.isfinite(point["threshold"]):
        raise InvalidInputError(f"no threshold has at most {fp_target} FP per image: the best score has more")
    image_hashes, patient_hashes = source.hash_members()
    found = {name: float(point[name]) for name in ("gt_sensitivity", "image_sensitivity")}
    return LockedOperatingPoint(
        model=model,
        threshold=float(point["threshold"]),
        fp_target=float(fp_target),
        fp_per_image=float(point["fp_per_image"]),
        # JSON has no NaN: an undefined sensitivity is null.
        **{name: None if np.isnan(value) else value for name, value in found.items()},
        rule=source.counting.rule_record(),
        options=source.counting.option_record(),
        data_sha256=source.fingerprint(),
        n_images=source.n_images,
        n_gts=source.n_gts,
        image_hashes=image_hashes,
        patient_hashes=patient_hashes,
        versions={"overread": __version__, "numpy": np.__version__, "python": platform.python_version()},
        written_at=_utc_now(),
    )


def _check_record(document: Any, names: set[str]) -> dict[str, Any]:
    """Fields of a file whose schema, fields, checksum and numbers are in order, or a ValueError."""
    broken = SEAL.broken_key(document)
    if broken == "schema":
        raise ValueError(f"its schema is not {SCHEMA}")
    record: dict[str, Any] = SEAL.payload(document)
    if set(record) != names:
        raise ValueError(f"missing or unknown fields: {', '.join(sorted(set(record) ^ names))}")
    if broken is not None:
        raise ValueError("the checksum does not match: the file was changed after it was written")
    for name in ("threshold", "fp_target", "fp_per_image"):
        if not isinstance(record[name], float):
            raise ValueError(f"{name} is not a number")
    for name in ("image_hashes", "patient_hashes"):
        if not isinstance(record[name], list) or not all(isinstance(one, str) for one in record[name]):
            raise ValueError(f"{name} is not a list of text")
        record[name] = tuple(record[name])
    return record


def _utc_now() -> str:
    """Time of day, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

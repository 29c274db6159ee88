"""The seam between kinds of images: what a domain answers, and the one path from an image to its features.

A domain says how an image is read, where to look, which candidates there are, which features, in which unit and which
words. Chest radiographs and other pictures are two of them; no other package asks what kind of image it has. A third
one is a folder with a subclass of `Domain` and a line in `DOMAINS`, or a package with an entry point of the group
``overread.domains`` whose value is the class.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.domains._finders import CandidateFinder, list_finders
from overread.errors import InvalidInputError, ModelFileError, UsageError
from overread.files import digest_of_value
from overread.images import GRID_MM
from overread.tables import LengthUnit, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plain = Mapping[str, Any]
"""Settings of a study by section, as `Settings.to_plain` gives them; a section may be missing."""

# Domains in the order in which they are asked for the kind of a folder; the last one accepts any image.
DOMAINS = {
    "chest": "overread.domains.chest.domain:ChestDomain",
    "picture": "overread.domains.picture.domain:PictureDomain",
}
"""Place of each domain of this package by its name."""
ENTRY_POINTS = "overread.domains"


class DomainImage(Protocol):
    """An image in the form of its domain: `Radiograph`, `PictureImage`."""

    @property
    def pixels(self) -> NDArray[np.float32]:
        """What is shown to people: rows x columns, or rows x columns x 3."""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Where it shows something."""

    @property
    def mm_per_px(self) -> float:
        """Side of a pixel in the unit."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height in the unit."""

    @property
    def source_mm_per_px(self) -> tuple[float, float] | None:
        """Size of a pixel in the file, (x, y); None for an image that was not read from one."""

    @property
    def source_shape(self) -> tuple[int, int] | None:
        """Rows and columns in the file."""

    @property
    def pixel_hash(self) -> str | None:
        """Hash that identifies identical pixels."""

    @property
    def sketch(self) -> str | None:
        """Values that identify a copy with other pixels."""


class SeenImage(Protocol):
    """What is known of a file of a folder; `overread.study.intake._issues.FoundImage`."""

    @property
    def has_lungs(self) -> bool | None:
        """Whether a pair of lungs is seen; None where it was not looked for."""


@short_repr()
@dataclass(frozen=True)
class ImageTask:
    """One image to work on."""

    image_id: str
    path: str
    mm_per_px: tuple[float, float] | None = None  # (x, y) where the study gives it; None: the file has to say
    candidates: pd.DataFrame | None = field(default=None, compare=False)
    sha256: str | None = None  # of the file under which the outcome is kept; None: it is not kept
    mask: str | None = None
    candidates_key: str = ""  # digest of all that candidates depend on; empty: nothing is kept
    features_key: str = ""


@short_repr()
@dataclass(frozen=True, eq=False)
class ImageWork:
    """Candidates and features of an image; features have the rows of candidates in the same order."""

    candidates: pd.DataFrame
    features: pd.DataFrame
    facts: Mapping[str, Any]  # `Domain.facts`


@dataclass(frozen=True)
class StudyFacts:
    """Facts of a study before its images are processed; lengths are in its unit."""

    widths: NDArray[np.float64]  # of the images; empty where they are not known
    radii: NDArray[np.float64]  # of the marks outside the test part
    has_colour: Callable[[], bool | None] = lambda: None  # of the first image; None: none is opened


class Domain(ABC):
    """A kind of images: turns an image into candidates and features; instances are small to send.

    Attributes
    ----------
    name
        In the registry.
    kinds
        Values of ``[region] kind`` in study.toml that choose it.
    units
        In which lengths may be counted.
    thing
        What is looked for, in texts.
    findings
        Kinds of unexpected views that `overread check` reports; None: all.
    depends_on_study
        Whether settings that a study leaves out come from its images and marks (`complete`).
    feature_version
        To be raised whenever the same candidates may give other features: a detector refuses another version.
    unit : {'mm', 'px', 'percent'}
        Of every length of an instance.
    finder : str
        Name of the finder of an instance.
    target : str
        What an instance finds, by name, for documents.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[LengthUnit, ...]] = ("mm", "px", "percent")
    thing: ClassVar[str] = "object"
    findings: ClassVar[frozenset[str] | None] = frozenset({"text"})
    depends_on_study: ClassVar[bool] = True
    features_command: ClassVar[str] = "overread features"
    feature_version: ClassVar[str]
    unit: LengthUnit
    finder: str
    target: str

    # What a study asks before it has an instance: its settings are plain values.

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: Plain) -> Self:
        """Make the domain of completed settings."""

    @classmethod
    def complete(cls, settings: Plain, given: Set[str], facts: StudyFacts) -> dict[str, Any]:
        """Return the sections of the settings that depend on the study, filled in.

        Parameters
        ----------
        settings : Plain
            As read.
        given
            Keys that the study sets, such as "candidates.limit".
        facts : StudyFacts
            What is known of images and marks.

        Raises
        ------
        InvalidInputError
            If a key is given that these images do not have.
        """
        return {}

    @classmethod
    def find_masks(cls, images: pd.DataFrame, folder: Path, settings: Plain) -> dict[str, Path] | None:
        """Find the mask file of every image; None where regions do not come from masks."""
        return None

    @classmethod
    @abstractmethod
    def read_to_show(cls, path: Path, mm_per_px: tuple[float, float] | None, settings: Plain) -> DomainImage:
        """Read an image for a page: its region does not matter."""

    @classmethod
    @abstractmethod
    def crop_side(cls, settings: Plain) -> float:
        """Return the side of a crop around a position, in the unit."""

    @classmethod
    @abstractmethod
    def describe_processing(cls, settings: Plain) -> str:
        """Say what is done to the pixels."""

    @classmethod
    @abstractmethod
    def describe_feature(cls, name: str) -> tuple[str, str]:
        """Return the formula of a feature with its unit, and plain words; empty if they are unknown."""

    # What `overread init` and `check` ask of a folder of images.

    @classmethod
    def claims(cls, images: Sequence[SeenImage]) -> bool:
        """Whether the images of a folder may be of this kind."""
        return False

    @classmethod
    def doubt(cls, images: Sequence[SeenImage]) -> tuple[str, str] | None:
        """Say what speaks against images of this kind in a study of it, and the remedy."""
        return None

    @classmethod
    def suggest(
        cls, folder: Path, images: pd.DataFrame, marks: pd.DataFrame | None, *, kind: str | None
    ) -> dict[str, dict[str, Any]]:
        """Return what study.toml of a new study should say, by section and key."""
        return {"region": {"kind": kind or cls.kinds[0]}}

    @classmethod
    def advise(cls, folder: Path, kinds: Set[str], *, has_marks: bool) -> tuple[list[str], list[str]]:
        """Return the steps before such a study can run: the first, and the last.

        Parameters
        ----------
        folder : Path
            Folder of the study.
        kinds
            Problems of its images.
        has_marks : bool
            Whether it has marks already.
        """
        return [], []

    def refuse_strangers(self, tasks: Sequence[ImageTask]) -> None:
        """Stop where most of some images are of another kind, before hours are spent on them."""
        return

    # An instance at work.

    @property
    def needs_masks(self) -> bool:
        """Whether the region of an image comes from a mask file."""
        return False

    @property
    @abstractmethod
    def candidate_finder(self) -> CandidateFinder:
        """Who looks for candidates."""

    @property
    @abstractmethod
    def feature_names(self) -> Sequence[str]:
        """Features that can be computed, in the order of their columns."""

    def check_names(self, wanted: Sequence[str]) -> list[str]:
        """Return the features that are wanted, all without any; refuse one that there is not."""
        for name in wanted:
            if name not in self.feature_names:
                raise UsageError(f"--feature {name!r}: no feature of these images ({self.features_command})")
        return list(dict.fromkeys(wanted)) or list(self.feature_names)

    @property
    def versions(self) -> tuple[str, str]:
        """Versions of candidates and features, for the keys of what is kept: the domain's own fields count."""
        usual = {"domain": self.name, **self.versions_record()}
        own = {key: value for key, value in self.to_record().items() if usual.get(key) != value}
        options = f", options {digest_of_value(own)[:16]}" if own else ""
        return f"{self.finder} {self.candidate_finder.version}{options}", self.feature_version

    @abstractmethod
    def read(self, path: str | Path, *, mm_per_px: Any = None, mask: str | Path | None = None) -> DomainImage:
        """Read an image.

        Parameters
        ----------
        path : str or Path
            The file.
        mm_per_px : object, optional
            Size of a pixel where the file does not state it.
        mask : str or Path, optional
            File of the region, where the domain needs one.
        """

    def check_image(self, image: DomainImage) -> None:
        """Refuse an image that was not read as `read` does."""
        return

    def find_regions(self, image: DomainImage) -> Any:
        """Find where to look, and what else features need."""
        return image.valid

    def find(self, image: DomainImage, regions: Any, *, limit: int) -> pd.DataFrame:
        """Find at most ``limit`` candidates; lengths have plain names."""
        return plain(self.candidate_finder(image, regions, limit=limit), self.unit, "candidates")[0]

    @abstractmethod
    def extract(
        self,
        image: DomainImage,
        candidates: pd.DataFrame,
        regions: Any,
        names: Sequence[str],
        *,
        n_threads: int | None = None,
    ) -> pd.DataFrame:
        """Compute features: candidate_id and one column a name."""

    def facts(self, image: DomainImage) -> dict[str, Any]:
        """Return plain values about an image, for the table of images."""
        width, height = image.size_mm
        return {
            "pixel_hash": image.pixel_hash,
            "sketch": image.sketch,
            f"width_{self.unit}": float(width),
            f"height_{self.unit}": float(height),
            "source_mm_per_px": [float(side) for side in image.source_mm_per_px or ()],
            "source_shape": [int(side) for side in image.source_shape or ()],
        }

    def document_border(self, image: DomainImage) -> float:
        """Return how far from the border of the image a circle in a DICOM document stays."""
        return max(image.source_mm_per_px or (0.0,))

    @abstractmethod
    def draw(self, image: DomainImage, regions: Any, candidates: pd.DataFrame, title: str) -> Figure:
        """Draw an image with its regions, and candidates with rank and response."""

    @abstractmethod
    def describe_regions(self, image: DomainImage, regions: Any) -> tuple[dict[str, Any], str]:
        """Describe how regions were found, as plain values and in words."""

    # In the file of a detector.

    def to_record(self) -> dict[str, Any]:
        """Return its part of the file of a detector."""
        return {"domain": self.name, **self.versions_record()}

    def versions_record(self) -> dict[str, Any]:
        """Return what a detector was made with; another version is refused."""
        return {
            "finder": self.finder,
            "candidate_version": self.candidate_finder.version,
            "feature_version": self.feature_version,
            "grid_mm": GRID_MM,
        }

    @classmethod
    @abstractmethod
    def from_record(cls, record: Plain) -> Self:
        """Make the domain of a detector's file; its values may be forged."""


def get_domain(kind: str) -> type[Domain]:
    """Return the domain of a value of ``[region] kind``."""
    for domain in _load_domains():
        if kind in domain.kinds:
            return domain
    raise UsageError(f"no kind of image {kind!r}; there are {', '.join(list_kinds())}")


def domain_of(settings: Plain) -> type[Domain]:
    """Return the domain of a study's plain settings; the default is chest radiographs."""
    return get_domain(settings.get("region", {}).get("kind", "chest"))


def list_kinds() -> list[str]:
    """Values that ``[region] kind`` may have."""
    return [kind for domain in list_domains() for kind in domain.kinds]


@cache
def _load_domain(place: str) -> type[Domain]:
    module, _, attribute = place.partition(":")
    domain: type[Domain] = getattr(import_module(module), attribute)
    return domain


def list_domains() -> list[type[Domain]]:
    """Every domain: of this package, then of others."""
    return list(_load_domains())


def _load_domains() -> Iterator[type[Domain]]:
    """Load the domains one after the other: ours, then those of other packages."""
    yield from map(_load_domain, DOMAINS.values())
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name):
        try:
            yield entry.load()
        except Exception as error:  # whatever another package raises
            raise UsageError(
                f"the domain {entry.name!r} ({entry.value}) cannot be loaded: {error}"
            ) from error


def list_all_finders() -> list[str]:
    """Names of the finders of all domains."""
    return [name for domain in list_domains() for name in list_finders(domain.name)]


def guess_domain(images: Sequence[SeenImage], *, in_pixels: bool, kind: str | None = None) -> type[Domain]:
    """Guess the domain of a folder's images; not every domain can use pixels as unit."""
    named = [get_domain(kind)] if kind else []
    own, *others = list_domains()
    # Other packages know their images better than a guess; pictures of any kind come last.
    claimed = [one for one in (*others[1:], own, others[0]) if one.claims(images)]
    return next(one for one in (*named, *claimed) if not in_pixels or "px" in one.units)


def domain_from_record(record: Plain) -> Domain:
    """Make a domain from a record of `Domain.to_record`; fails if the domain is not installed."""
    name = record.get("domain", "picture" if "field" in record else "chest")
    found = next((one for one in list_domains() if one.name == name), None)
    if found is None:
        raise ModelFileError(
            f"the detector is for images of the kind {str(name)[:40]!r}, which is not installed"
        )
    if record["finder"] not in list_finders(found.name):
        raise ModelFileError(
            f"the detector needs the candidate finder {record['finder']!r}, which is not installed:"
            " install the package that has it"
        )
    return found.from_record(record)


def refuse_other_versions_of(domain: Domain, record: Plain) -> None:
    """Refuse a detector that was trained on other candidates or features than the domain's."""
    own = domain.versions_record()
    for kind, key in (("features", "feature_version"), ("candidates", "candidate_version")):
        if record[key] != own[key]:
            raise ModelFileError(
                f"the detector was trained on {kind} of version {record[key]}, these are {own[key]}: train it again, "
                "or use the version of overread that made it"
            )


def measure_image(
    domain: Domain,
    image: DomainImage,
    names: Sequence[str],
    *,
    limit: int,
    candidates: pd.DataFrame | None = None,
    regions: Any = None,
    n_threads: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the candidates of an image and their features, in the same order; reuse known ones."""
    regions = domain.find_regions(image) if regions is None else regions
    if candidates is None:
        candidates = domain.find(image, regions, limit=limit)
    found = plain(candidates, domain.unit, "candidates")[0].reset_index(drop=True)
    return found, domain.extract(image, found, regions, names, n_threads=n_threads)


class ImagePipeline:
    """What a run does with an image.

    Features whose names match a pattern of ``only`` (none: all) and none of ``exclude`` are computed. The versions
    change whenever the same image would give other candidates, or the same candidates other features.
    """

    def __init__(
        self, domain: Domain, limit: int, only: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> None:
        self.domain, self.limit = domain, limit
        self.feature_names = [
            name
            for name in domain.feature_names
            if (not only or any(fnmatchcase(name, pattern) for pattern in only))
            and not any(fnmatchcase(name, pattern) for pattern in exclude)
        ]
        if not self.feature_names:
            without = f", exclude = {list(exclude)}" if exclude else ""
            raise InvalidInputError(
                f"[features] only = {list(only)}{without}: no feature of these images has such a name"
            )
        chosen = hashlib.sha256("\n".join(self.feature_names).encode()).hexdigest()
        candidates, features = domain.versions
        self.candidate_version = f"{candidates}, at most {limit}"
        self.feature_version = f"{features}, {len(self.feature_names)} features {chosen[:16]}"

    def __call__(self, task: ImageTask) -> ImageWork:
        """Read an image, find its regions and candidates, and compute their features."""
        image = self.domain.read(task.path, mm_per_px=task.mm_per_px, mask=task.mask)
        found = measure_image(
            self.domain,
            image,
            self.feature_names,
            limit=self.limit,
            candidates=task.candidates,
            n_threads=1,
        )
        return ImageWork(*found, self.domain.facts(image))


def image_pipeline(
    *, domain: Plain, limit: int, only: list[str], exclude: Sequence[str] = ()
) -> ImagePipeline:
    """Make a pipeline from plain values, as a worker on another machine does."""
    return ImagePipeline(domain_from_record(domain), limit, only, exclude)

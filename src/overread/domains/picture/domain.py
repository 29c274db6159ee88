"""Images other than chest radiographs: original pixels, any unit, a generic finder and generic features."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import pandas as pd

from overread._text import shell_word
from overread.domains._domain import Domain, DomainImage, Plain, SeenImage, StudyFacts
from overread.domains._finders import CandidateFinder, load_finder
from overread.domains.picture._defaults import complete_settings, propose_settings
from overread.domains.picture._features import (
    GENERIC_FEATURES,
    GENERIC_VERSION,
    extract_generic,
    generic_names,
)
from overread.domains.picture._finder import Polarity
from overread.domains.picture._image import PLANES, PictureImage, RegionKind, read_picture
from overread.errors import ImageError, InvalidInputError, TableError
from overread.files import digest_of_value, from_json, to_json
from overread.images import (
    choose_spacing,
    file_content,
    name_errors,
    picture_kind,
    read_channels,
    read_source,
)
from overread.tables import LengthUnit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Twenty scales; a file of a detector must not ask for thousands. Set by judgement.
WIDEST_RANGE = 1000.0
# Longest meaning of a code in DICOM (PS3.5 table 6.2-1).
LONGEST_TARGET = 64
MASK_ENDINGS = (".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp", ".dcm")
# A crop is twelve of the least semi-axes of a hit, as that of a nodule is.
SEMI_AXES_IN_CROP = 12.0
# Of the upper third of the objects by size. Set by judgement: most outlines stay in the crop with their surroundings.
OBJECTS_IN_CROP = 2.5
PROPOSED = "The images are not chest radiographs: study.toml proposes where to look"


@dataclass(frozen=True)
class PictureDomain(Domain):
    """Images other than chest radiographs: reading, search and features."""

    region: RegionKind
    unit: LengthUnit
    colour: bool  # features of all planes; a grey picture then has three equal channels
    weights: tuple[float, float, float] | None  # of the searched plane; None: luminance
    stain: tuple[float, float, float] | None  # its absorbance, instead of weights
    finder: str
    polarity: Polarity
    smallest: float  # radius in the unit
    largest: float
    target: str = "object"

    name = "picture"
    kinds = get_args(RegionKind)
    features_command = "overread features --pictures"
    feature_version = GENERIC_VERSION

    def __post_init__(self) -> None:
        for name, value, kind in (
            ("region", self.region, RegionKind),
            ("unit", self.unit, LengthUnit),
            ("polarity", self.polarity, Polarity),
        ):
            if value not in get_args(kind):
                raise InvalidInputError(f"{name} {value!r} does not exist; use {' or '.join(get_args(kind))}")
        if not self.target.isprintable() or not 0 < len(self.target) <= LONGEST_TARGET:
            raise InvalidInputError(f"target is not a line of 1 to {LONGEST_TARGET} printable characters")
        if not 0 < self.smallest <= self.largest <= WIDEST_RANGE * self.smallest < float("inf"):
            raise InvalidInputError(
                f"radii from {self.smallest:g} to {self.largest:g}: the smallest has to be above 0, and the "
                f"largest from it to {WIDEST_RANGE:g} times as much"
            )

    @classmethod
    def from_settings(cls, settings: Plain) -> Self:
        """Take what one group of labels of a study is searched for."""
        own, images = settings["candidates"], settings["images"]
        stain = None if images["stain"] is None else tuple(images["stain"])
        return cls(
            region=settings["region"]["kind"],
            unit=settings["units"]["unit"],
            colour=bool(images["colour"]),
            weights=plane_weights(images["plane"]) if stain is None else None,
            stain=stain,
            finder=own["finder"],
            polarity=own["polarity"],
            smallest=own["smallest"] or nan,
            largest=own["largest"] or nan,
            target=next(iter(settings["labels"]["groups"]), cls.thing),
        )

    @classmethod
    def complete(cls, settings: Plain, given: Set[str], facts: StudyFacts) -> dict[str, Any]:
        """Fill in what depends on the unit, the colours and the marks."""
        return complete_settings(settings, given, facts)

    @classmethod
    def find_masks(cls, images: pd.DataFrame, folder: Path, settings: Plain) -> dict[str, Path] | None:
        """Find the mask of every image: by its name in a folder, or by the column mask of the images table."""
        if settings["region"]["kind"] != "masks":
            return None
        masks = settings["images"]["masks"]
        if masks is not None:
            paths = zip(images["image_id"], images["path"], strict=True)
            return {image_id: find_mask(folder / masks, Path(path)) for image_id, path in paths}
        empty = pd.Series("", index=images.index)
        cells = images["mask"].fillna("").astype("str") if "mask" in images else empty
        if (cells == "").any():
            row = int((cells == "").to_numpy().argmax())
            raise TableError(
                f"images, row {row + 2}, column mask: there is no mask file (give its path relative to the folder, or"
                " name the folder of the masks: [images] masks)"
            )
        return {image_id: folder / cell for image_id, cell in zip(images["image_id"], cells, strict=True)}

    @classmethod
    def read_to_show(cls, path: Path, mm_per_px: tuple[float, float] | None, settings: Plain) -> PictureImage:
        """Read a whole picture."""
        spacing = find_file_spacing(path, settings["units"]["unit"], mm_per_px)
        return read_picture(path, mm_per_px=spacing, region="all", colour=settings["images"]["colour"])

    @classmethod
    def crop_side(cls, settings: Plain) -> float:
        """Show an object with its surroundings."""
        least = settings["hits"]["min_semi_axis"]
        if not least:
            return 3.0 * float(settings["merging"]["full_size"])
        # The last edge means no limit.
        edges = settings.get("evaluation", {}).get("size_bins", [0.0])[:-1]
        return max(SEMI_AXES_IN_CROP * least, OBJECTS_IN_CROP * max(edges, default=0.0))

    @classmethod
    def describe_processing(cls, settings: Plain) -> str:
        """Name region and plane."""
        region, images = settings["region"]["kind"], settings.get("images", {})
        searched = "a stain" if images.get("stain") else f"the plane {images.get('plane', 'luminance')}"
        return (
            f"own pixels of the file; region: {region.replace('_', ' ')}; searched: {searched}, without its "
            "background, in deviations of the region"
        )

    @classmethod
    def describe_feature(cls, name: str) -> tuple[str, str]:
        """Look it up among the generic features: their formulas are words."""
        return GENERIC_FEATURES.get(name, ""), GENERIC_FEATURES.get(name, "")

    @classmethod
    def claims(cls, images: Sequence[SeenImage]) -> bool:
        """Take any image."""
        return True

    @classmethod
    def suggest(
        cls, folder: Path, images: pd.DataFrame, marks: pd.DataFrame | None, *, kind: str | None
    ) -> dict[str, dict[str, Any]]:
        """Look at some of the pictures."""
        return propose_settings(folder, images, marks, region=kind)

    @classmethod
    def advise(cls, folder: Path, kinds: Set[str], *, has_marks: bool) -> tuple[list[str], list[str]]:
        """Say that study.toml is a proposal."""
        if has_marks:
            return [], [
                f"{PROPOSED}, the unit of lengths, colours and groups of labels. Look it through"
                f" (docs/explanation/fields.md), then: overread run {shell_word(folder)}"
            ]
        return [], [
            f"{PROPOSED} and the unit of lengths. Colours and groups of labels are proposed from marks: after the"
            f" import, remove {folder / 'study.toml'} and give init again (docs/explanation/fields.md)."
        ]

    @property
    def needs_masks(self) -> bool:
        """Whether the region comes from a mask file."""
        return self.region == "masks"

    @cached_property
    def candidate_finder(self) -> CandidateFinder:
        """Make the finder with the options of the domain."""
        return load_finder(
            self.finder, self.name, polarity=self.polarity, smallest=self.smallest, largest=self.largest
        )

    @property
    def feature_names(self) -> list[str]:
        """Generic features of grey or of colour."""
        return generic_names(colour=self.colour)

    @property
    def versions(self) -> tuple[str, str]:
        """Tell options of the domain by a digest."""
        made = digest_of_value(to_json(self))[:16]
        return (
            f"{self.finder} {self.candidate_finder.version}, recipe {made}",
            f"generic {GENERIC_VERSION}",
        )

    def read(
        self, path: str | Path, *, mm_per_px: Any = None, mask: str | Path | None = None
    ) -> PictureImage:
        """Read a picture in the unit."""
        return read_picture(
            path,
            mm_per_px=find_file_spacing(path, self.unit, mm_per_px),
            region=self.region,
            weights=self.weights,
            stain=self.stain,
            colour=self.colour,
            mask=mask,
        )

    def check_image(self, image: DomainImage) -> None:
        """Refuse an image that is not a picture with planes."""
        if not isinstance(image, PictureImage):
            raise InvalidInputError("the image has no planes: read it with read_picture")

    def extract(
        self,
        image: Any,
        candidates: pd.DataFrame,
        regions: Any,
        names: Sequence[str],
        *,
        n_threads: int | None = None,
    ) -> pd.DataFrame:
        """Compute generic features; candidates of another finder need have no response."""
        if "response" not in candidates:
            candidates = candidates.assign(response=0.0)
        return extract_generic(image, candidates)[["candidate_id", *names]]

    def facts(self, image: Any) -> dict[str, Any]:
        """Add the share of the region."""
        return super().facts(image) | {"region_share": float(image.region.mean())}

    def draw(self, image: Any, regions: Any, candidates: pd.DataFrame, title: str) -> Figure:
        """Draw the outline of the region."""
        from overread.domains._plots import picture_figure

        return picture_figure(image, candidates, unit=self.unit, title=title)

    def describe_regions(self, image: DomainImage, regions: Any) -> tuple[dict[str, Any], str]:
        """Say how much of the picture the region fills."""
        share = float(regions.mean())
        return {"region_share": share, "unit": self.unit}, (
            f"the region fills {100 * share:.0f} % of the picture"
        )

    def to_record(self) -> dict[str, Any]:
        """Return finder, versions, and all of its fields."""
        return self.versions_record() | {"field": to_json(self)}

    @classmethod
    def from_record(cls, record: Plain) -> Self:
        """Read its fields."""
        # In files of earlier versions, lengths ended in _mm whatever their unit, and percent was called fraction.
        own = record["field"]
        if isinstance(own, dict):
            own = {name.removesuffix("_mm"): value for name, value in own.items()}
            own["unit"] = "percent" if own["unit"] == "fraction" else own["unit"]
        made = from_json(cls, own, "field")
        if made.finder != record["finder"]:
            raise InvalidInputError("field: its finder is not that of the detector")
        return made


def plane_weights(plane: str | Sequence[float]) -> tuple[float, float, float]:
    """Return the weights of red, green and blue of a plane by its name, or as they are given."""
    red, green, blue = PLANES[plane] if isinstance(plane, str) else plane
    return red, green, blue


def find_file_spacing(path: str | Path, unit: str, mm_per_px: Any) -> Any:
    """Return the side of a pixel of a picture in a unit; in mm the given one, else what the file states."""
    if unit == "px":
        return 1.0
    if unit == "percent":
        return 100.0 / read_channels(path).shape[1]
    if mm_per_px is not None:
        return mm_per_px
    if name_errors(path, lambda: picture_kind(file_content(Path(path)))) is not None:
        raise ImageError(
            f"{path}: the file does not state the pixel size; give mm_per_px (--mm-per-px), or count in pixels:"
            ' [units] unit = "px"'
        )
    stated = name_errors(path, lambda: choose_spacing(read_source(path).spacing, None))
    return stated.x, stated.y


def find_mask(masks: Path, image: Path) -> Path:
    """Find the mask of a picture in a folder: the file of the same name, whatever its ending."""
    for ending in (image.suffix, *MASK_ENDINGS):
        if (masks / f"{image.stem}{ending}").is_file():
            return masks / f"{image.stem}{ending}"
    raise InvalidInputError(f"{masks}: there is no mask for {image.name}: a file of the same name")

"""A third kind of images is one class: a study of it runs, and its detector works on new images."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from field_study import LIGHT, write_field_study
from overread.domains import (
    Domain,
    FinderEntry,
    PictureImage,
    candidate_table,
    domain_from_record,
    find_peaks,
    get_domain,
    guess_domain,
    list_kinds,
)
from overread.domains import _domain as domains
from overread.domains import _finders as finders
from overread.errors import InvalidInputError, UsageError
from overread.images import read_channels
from overread.study import Detector, open_run, parse_settings, run_study

SETTINGS = LIGHT.replace('kind = "field_of_view"', 'kind = "slide"').replace("folds = 2", "folds = 3")


class Brightest:
    """Finds the brightest pixels."""

    name, version = "brightest", "1"

    def __call__(self, image, regions, *, limit):
        row, column = find_peaks(image.planes["main"], regions, limit=limit)
        values = image.planes["main"][row, column].astype(float)
        order = np.argsort(-values, kind="stable")
        return candidate_table(column[order] + 0.5, row[order] + 0.5, np.full(len(order), 5.0), values[order])


@dataclass(frozen=True)
class SlideDomain(Domain):
    """Slides, in pixels: brightness and place of bright points."""

    finder: str = "brightest"

    name = "slide"
    kinds = ("slide",)
    units = ("px",)
    unit = "px"
    thing = "cell"
    target = "Cell"
    feature_version = "1"
    feature_names = ("level", "column", "row")

    @classmethod
    def from_settings(cls, settings):
        return cls()

    @classmethod
    def complete(cls, settings, given, facts):
        return {
            "candidates": settings["candidates"] | {"finder": "brightest", "limit": 12},
            "merging": settings["merging"] | {"full_size": 20.0},
            "hits": settings["hits"] | {"min_semi_axis": 5.0},
        }

    @classmethod
    def claims(cls, images):
        return bool(images) and all(image.has_lungs == "slide" for image in images)

    @classmethod
    def read_to_show(cls, path, mm_per_px, settings):
        return cls().read(path)

    @classmethod
    def crop_side(cls, settings):
        return 40.0

    @classmethod
    def describe_processing(cls, settings):
        return "pixels as they are"

    @classmethod
    def describe_feature(cls, name):
        return name, f"the {name}"

    @property
    def candidate_finder(self):
        return Brightest()

    def read(self, path, *, mm_per_px=None, mask=None):
        plane = read_channels(path).mean(axis=2).astype(np.float32)
        return PictureImage(
            {"main": plane}, np.ones(plane.shape, bool), 1.0, (1.0, 1.0), plane.shape, str(path)
        )

    def extract(self, image, candidates, regions, names, *, n_threads=None):
        x, y = (candidates[name].to_numpy() for name in ("x", "y"))
        level = image.planes["main"][y.astype(int), x.astype(int)]
        table = pd.DataFrame({"level": level, "column": x, "row": y}, dtype=np.float32)[list(names)]
        return pd.concat([candidates[["candidate_id"]], table], axis=1)

    def draw(self, image, regions, candidates, title):
        raise NotImplementedError

    def describe_regions(self, image, regions):
        return {}, "all of it"

    @classmethod
    def from_record(cls, record):
        return cls(record["finder"])


@pytest.fixture
def slides(monkeypatch):
    monkeypatch.setitem(domains.DOMAINS, "slide", "test_domain:SlideDomain")
    load = domains._load_domain
    monkeypatch.setattr(
        domains,
        "_load_domain",
        lambda place: SlideDomain if place == "test_domain:SlideDomain" else load(place),
    )
    monkeypatch.setitem(finders.FINDERS, "brightest", FinderEntry("brightest", "", "", "slide"))


def test_a_study_of_a_third_domain_runs_to_its_detector(slides, tmp_path):
    study = write_field_study(tmp_path / "slides", settings=SETTINGS, n_images=18)
    run_study(study)
    run = open_run(study / "runs" / "main")
    assert run.results.study.n_features == 3
    assert {feature.words for feature in run.results.models[0].features} <= {
        "the level",
        "the column",
        "the row",
    }
    page = (run.root / "report.html").read_text(encoding="utf-8")
    assert "cell" in page
    detector = Detector.read(run.root / "detector.json")
    assert detector.domain == SlideDomain()
    assert detector.to_bytes() == (run.root / "detector.json").read_bytes()
    found = detector.detect(detector.read_image(study / "images" / "eye00.png"))
    kept = run.table("candidates")
    assert len(found) == (kept["image_id"] == "eye00").sum() == 12


def test_settings_know_the_kinds_units_and_finders_of_every_domain(slides):
    assert list_kinds() == ["chest", "field_of_view", "masks", "all", "slide"]
    with pytest.raises(InvalidInputError, match="a slide is measured in px"):
        parse_settings({"region": {"kind": "slide"}})
    pixels = {"region": {"kind": "slide"}, "units": {"unit": "px"}}
    with pytest.raises(InvalidInputError, match='kind = "slide": use brightest'):
        parse_settings(pixels | {"candidates": {"finder": "blobs"}})
    with pytest.raises(UsageError, match="no kind of image 'knee'; there are chest"):
        get_domain("knee")
    assert domain_from_record(SlideDomain().to_record()) == SlideDomain()


@dataclass(frozen=True)
class Seen:
    has_lungs: object


@pytest.mark.usefixtures("slides")
@pytest.mark.parametrize(
    ("seen", "in_pixels", "kind", "name"),
    [
        ([True, False], False, None, "chest"),
        ([True, False, False], False, None, "picture"),
        ([None], False, None, "chest"),
        ([True], True, None, "picture"),
        ([True], False, "all", "picture"),
        ([False], False, "chest", "chest"),
        (["slide"], False, None, "slide"),
    ],
)
def test_a_folder_is_of_the_domain_that_claims_it(seen, in_pixels, kind, name):
    images = [Seen(has_lungs) for has_lungs in seen]
    assert guess_domain(images, in_pixels=in_pixels, kind=kind).name == name


def test_a_field_that_a_detector_keeps_is_part_of_the_key_of_kept_work():
    @dataclass(frozen=True)
    class Sized(SlideDomain):
        radius: float = 5.0

        def to_record(self):
            return super().to_record() | {"radius": self.radius}

    assert Sized(radius=8.0).versions != Sized().versions
    assert SlideDomain().versions == ("brightest 1", "1")

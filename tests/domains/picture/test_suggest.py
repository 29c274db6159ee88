"""What init proposes is what was drawn."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from field_study import write_field_study
from overread.domains.picture._defaults import _choose_polarity, _name_groups, propose_settings
from overread.study import make_study, read_settings
from overread.tables import named, plain, scale_lengths


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_field_study(tmp_path_factory.mktemp("propose") / "eyes")


def test_region_unit_groups_and_polarities_are_those_that_were_drawn(study):
    images, marks = (pd.read_csv(study / f"{kind}.csv") for kind in ("images", "marks"))
    proposed = propose_settings(study, images, marks)
    assert proposed["region"] == {"kind": "field_of_view"}
    assert proposed["units"] == {"unit": "px"}
    assert sorted(proposed["labels"]["groups"]) == ["dark", "pale"]
    assert proposed["candidates"]["polarity"] == {"pale": "bright", "dark": "dark"}
    one = propose_settings(study, images, marks[marks["label"] == "dark"])
    assert "labels" not in one
    assert one["candidates"] == {"polarity": "dark"}


def test_marks_in_mm_are_measured_where_they_are(study):
    images, marks = (pd.read_csv(study / f"{kind}.csv") for kind in ("images", "marks"))
    scaled = named(scale_lengths(plain(marks)[0], 0.1), "mm")
    in_mm = propose_settings(study, images.assign(mm_per_px_x=0.1, mm_per_px_y=0.1), scaled)
    assert in_mm == propose_settings(study, images, marks)


def test_pictures_without_a_frame_are_searched_whole_and_sizes_that_differ_are_fractions(tmp_path):
    images = []
    for number, width in enumerate((60, 80)):
        rgb = np.random.default_rng(number).integers(90, 160, (50, width, 3)).astype(np.uint8)
        Image.fromarray(rgb).save(tmp_path / f"{number}.png")
        images.append({"image_id": str(number), "path": f"{number}.png", "width_px": width})
    proposed = propose_settings(tmp_path, pd.DataFrame(images), None)
    assert proposed == {
        "region": {"kind": "all"},
        "units": {"unit": "percent"},
        "merging": {"method": "linkage"},
    }


def test_init_writes_it_into_the_settings(study):
    """Without the tables that init makes, as a new user would."""
    (study / "images.csv").unlink()
    (study / "study.toml").unlink()
    made = make_study(study, mm_per_px=1.0, in_pixels=True)
    assert made.n_images == 18
    assert not made.findings
    settings = read_settings(study / "study.toml")
    assert settings.region.kind == "field_of_view"
    assert settings.candidates.polarity == {"pale": "bright", "dark": "dark"}


def test_a_fresh_folder_of_colour_pictures_needs_no_size_of_a_pixel(tmp_path):
    study = write_field_study(tmp_path / "eyes", n_images=3)
    for name in ("images.csv", "marks.csv", "readings.csv", "study.toml"):
        (study / name).unlink()
    made = make_study(study)
    assert made.n_images == 3
    assert read_settings(study / "study.toml").units.unit == "px"
    assert pd.read_csv(study / "images.csv")["mm_per_px_x"].tolist() == [1.0] * 3


def test_names_of_groups_are_names_of_folders():
    assert _name_groups([["Hard exudates"], ["Red/dots"], ["hard_exudates"]]) == {
        "hard_exudates": ["Hard exudates", "hard_exudates"],
        "red_dots": ["Red/dots"],
    }


def test_labels_that_readers_mix_become_one_group(study):
    images, marks = (pd.read_csv(study / f"{kind}.csv") for kind in ("images", "marks"))
    mixed = (marks["label"] == "pale") & (marks["reader_id"] == marks["reader_id"].iloc[0])
    marks.loc[mixed, "label"] = "whitish"
    # Enough for a group of its own by number, but other readers call the same objects pale.
    assert mixed.sum() >= 20
    groups = propose_settings(study, images, marks)["labels"]["groups"]
    assert sorted(map(sorted, groups.values())) == [["dark"], ["pale", "whitish"]]


@pytest.mark.parametrize(
    ("values", "said"), [([1, 1, 1, -1], "bright"), ([-1, -1, -2], "dark"), ([1, -1], "both")]
)
def test_polarity_is_that_of_most_marks(values, said):
    assert _choose_polarity(pd.Series(values, dtype=float)) == said

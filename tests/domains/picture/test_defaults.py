"""Lengths are converted, reference sizes follow from the unit, and what init proposes is what was drawn."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from field_study import write_field_study
from overread.domains import StudyFacts, find_reference_sizes
from overread.domains.picture._defaults import _choose_polarity, _name_groups, propose_settings
from overread.errors import InvalidInputError, TableError
from overread.study import make_study, parse_settings, read_settings
from overread.study._study_marks import complete_settings
from overread.tables import check_sizes, convert_lengths, find_radii, named, pixel_sides, plain, scale_lengths
from overread.truth import EllipseHit, MergeOptions, merge_marks
from overread.truth._hits import StrictEllipseHit

IMAGES = pd.DataFrame(
    {
        "image_id": ["a", "b"],
        "width_px": [1500.0, 750.0],
        "height_px": [1000.0, 500.0],
        "mm_per_px_x": [0.1, 0.2],
        "mm_per_px_y": [0.1, 0.2],
    }
)
FILE = Path("study/images.csv")


def make_marks(seed=0, n=40):
    rng = np.random.default_rng(seed)
    lengths = {
        "x_mm": rng.uniform(20, 120, n),
        "y_mm": rng.uniform(20, 80, n),
        "semi_major_mm": rng.uniform(1, 3, n),
    }
    table = pd.DataFrame(
        {"image_id": rng.choice(["a", "b"], n), **lengths, "semi_minor_mm": 1.0, "angle_deg": 0.0}
    )
    return table.assign(
        reader_id=rng.choice(["r", "s", "t"], n), mark_id=[f"m{number}" for number in range(n)]
    )


def settings_of(unit, **sections):
    return parse_settings({"region": {"kind": "all"}, "units": {"unit": unit}, **sections})


def resolve(unit, table=IMAGES, marks=None, **sections):
    return complete(settings_of(unit, **sections), table, make_marks() if marks is None else marks)


def complete(settings, images, marks):
    """Complete settings by tables alone; colours are those of the settings."""
    own = plain(marks)[0]
    return complete_settings(settings, SimpleNamespace(images=images, marks=own, needs_images=False))


def test_tables_without_a_spacing_are_in_pixels():
    marks, images = make_marks(), IMAGES.drop(columns=["mm_per_px_x", "mm_per_px_y"])
    with pytest.raises(TableError, match="x_mm: lengths are in mm but needed in px"):
        convert_lengths(marks, images, "px")
    assert convert_lengths(named(plain(marks)[0], "px"), images, "px").equals(plain(marks)[0])


def test_truth_does_not_depend_on_the_unit_where_references_follow():
    """Images of one width: pixels and per cent of it give the same objects as mm with the same reference."""
    images = IMAGES.assign(width_px=1500.0, mm_per_px_x=0.1, mm_per_px_y=0.1)
    marks = make_marks(n=120)
    readings = marks[["image_id", "reader_id"]].drop_duplicates().reset_index(drop=True)
    counts = {}
    for unit in ("px", "percent"):
        own = named(convert_lengths(marks, images, unit), unit)
        side = pixel_sides(images, unit)
        resolved = resolve(unit, images.assign(mm_per_px_x=side, mm_per_px_y=side), own)
        options = MergeOptions(**dict(resolved.merging))
        counts[unit] = merge_marks(own, readings, options=options)["n_readers"].tolist()
    in_mm = MergeOptions(full_size=200 / 1500 * 150)
    assert (
        counts["px"] == counts["percent"] == merge_marks(marks, readings, options=in_mm)["n_readers"].tolist()
    )


def test_reference_sizes_are_shares_of_the_width_and_radii_those_of_the_marks():
    radii = find_radii(plain(make_marks())[0])
    sizes = find_reference_sizes(settings_of("px").to_plain(), StudyFacts(np.full(2, 1500.0), radii))
    assert (sizes.full_size, sizes.least_semi_axis) == pytest.approx((200.0, 15.0))
    assert (sizes.smallest, sizes.largest) == pytest.approx(tuple(np.quantile(radii, [0.1, 0.5])))
    assert sizes.size_bins[0] == 0
    assert sizes.size_bins == sorted(sizes.size_bins)


def test_in_mm_the_paper_s_sizes_hold():
    resolved = resolve("mm")
    assert resolved.merging.full_size == 20.0
    assert resolved.hits.hit_rule() == EllipseHit(min_semi_axis=5.0)


def test_what_the_settings_say_counts():
    resolved = resolve(
        "px",
        merging={"full_size": 50.0},
        hits={"min_semi_axis": 7.0},
        candidates={"smallest": 2.0, "limit": 9},
        evaluation={"size_bins": [0.0, 30.0, 900.0]},
        images={"colour": False},
    )
    assert resolved.merging.full_size == 50.0
    assert resolved.hits.hit_rule() == EllipseHit(min_semi_axis=7.0)
    assert (resolved.candidates.smallest, resolved.candidates.limit) == (2.0, 9)
    assert resolved.evaluation.size_bins == [0.0, 30.0, 900.0]
    assert resolved.images.colour is False


def test_defaults_of_pictures_are_filled_in_and_read_back():
    resolved = resolve("px", hits={"rule": "strict"})
    assert (resolved.candidates.finder, resolved.candidates.limit) == ("blobs", 250)
    # As much smaller than the usual rule's as in mm.
    assert resolved.hits.hit_rule() == StrictEllipseHit(min_semi_axis=0.8 * 0.01 * (150 + 150) / 2)
    assert parse_settings(resolved.to_plain()) == resolved


@pytest.mark.parametrize(("shape", "colour"), [((8, 8, 3), True), ((8, 8), False)])
def test_colours_are_those_of_the_first_image_that_can_be_read(tmp_path, shape, colour):
    (tmp_path / "a.png").write_bytes(b"no image")
    Image.fromarray(np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)).save(tmp_path / "b.png")
    images = IMAGES.assign(path=["a.png", "b.png"])
    study = SimpleNamespace(images=images, marks=plain(make_marks())[0], needs_images=True, folder=tmp_path)
    assert complete_settings(settings_of("px"), study).images.colour is colour
    assert (
        complete_settings(settings_of("px", images={"colour": not colour}), study).images.colour is not colour
    )


def test_marks_of_the_test_part_are_not_looked_at():
    images = IMAGES.assign(split=["training", "test"])
    marks = make_marks()
    marks.loc[marks["image_id"] == "b", "semi_major_mm"] = 50.0
    seen = find_radii(plain(marks[marks["image_id"] == "a"])[0])
    assert resolve("mm", images, marks).candidates.largest == pytest.approx(np.median(seen))


@pytest.mark.parametrize("given", [{"images": {"plane": "green"}}, {"candidates": {"polarity": "dark"}}])
def test_a_chest_does_not_silently_ignore_what_is_of_pictures(given):
    with pytest.raises(
        InvalidInputError, match=r"is only for images that are not chest radiographs; set kind in \[region\]"
    ):
        complete(parse_settings(given), IMAGES, make_marks())
    chest = parse_settings({})
    assert complete(chest, IMAGES, make_marks()) is chest


def test_missing_widths_and_oblong_pixels_are_refused_by_row():
    with pytest.raises(TableError, match=r"row 3, column width_px: is empty, .*overread init study"):
        check_sizes(IMAGES.assign(width_px=[10.0, np.nan]), FILE)
    with pytest.raises(TableError, match=r"row 2, column mm_per_px_y: pixels are not square"):
        check_sizes(IMAGES.assign(mm_per_px_y=[0.2, 0.2]), FILE)


def test_without_marks_nothing_is_known_of_sizes():
    with pytest.raises(InvalidInputError, match="nothing is known of their sizes"):
        resolve("px", marks=make_marks().iloc[:0])


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


def test_marks_in_mm_of_the_test_part_need_no_size_to_propose_settings(study):
    images, marks = (pd.read_csv(study / f"{name}.csv") for name in ("images", "marks"))
    images = images.assign(mm_per_px_x=0.1, mm_per_px_y=0.1, split="training")
    images.loc[images.index[-1], "split"] = "test"
    in_mm = named(scale_lengths(plain(marks)[0], 0.1), "mm")
    assert propose_settings(study, images, in_mm) == propose_settings(study, images, marks)


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

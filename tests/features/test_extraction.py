"""The table of features: batches, threads, subsets, symmetries of the image, hostile input."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from feature_scenes import SIDE, X_MM, anatomy, candidates, disc, line, no_anatomy, noise, radiograph

from overread.errors import InvalidInputError, TableError
from overread.features import CATALOGUE, Catalogue, extract_features
from overread.features.families import FAMILIES

SPECIFIC = [feature.name for feature in CATALOGUE.kind("specific")]
MM = 0.7
PIXELS = (
    0.4
    + noise(0.04)
    + disc(9.0)
    + line(140.0, width=3.0, x=130.0)
    + disc(6.0, 0.1, x=150.0, y=60.0)
    + 0.001 * X_MM
)


def scattered(n, seed=1):
    random = np.random.default_rng(seed)
    return candidates(
        *zip(random.uniform(20, 204, n), random.uniform(20, 204, n), random.uniform(3, 14, n), strict=True)
    )


def ribbed():
    rows, columns = np.indices((SIDE, SIDE))
    ribs = (0.5 + 0.5 * np.sin((rows + 0.3 * columns) / 7.0)).astype(np.float32)
    return anatomy(
        ribs=ribs,
        rib_direction_deg=np.full((SIDE, SIDE), 163.3, np.float32),
        clavicles=(rows > 40) & (rows < 52),
    )


TABLE = scattered(12)
FOUND = extract_features(radiograph(PIXELS), TABLE, ribbed(), features=SPECIFIC, n_threads=1)


def changed(image, places, structures):
    return extract_features(image, places, structures, features=SPECIFIC, n_threads=1)


def assert_same(found, expected=FOUND, *, but=()):
    for name in SPECIFIC:
        if name not in but:
            tolerance = 2e-3 * (expected[name].std() + 1e-3)
            np.testing.assert_allclose(found[name], expected[name], rtol=2e-3, atol=tolerance, err_msg=name)


def turned(structures, turn, *, degrees, mirrored=False):
    """Anatomy on the turned image; left and right are those of the new image."""
    masks = {
        name: np.ascontiguousarray(turn(getattr(structures, name)))
        for name in ("left_lung", "right_lung", "thorax", "mediastinum", "ribs", "clavicles")
    }
    direction = turn(structures.rib_direction_deg)
    direction = (180.0 - direction if mirrored else direction + degrees) % 180.0
    if mirrored:
        masks["left_lung"], masks["right_lung"] = masks["right_lung"], masks["left_lung"]
    return dataclasses.replace(structures, **masks, rib_direction_deg=direction.astype(np.float32))


def test_mirrored_image_gives_the_same_features():
    """Only the side changes its sign."""
    image = radiograph(PIXELS[:, ::-1])
    places = TABLE.assign(x_mm=SIDE * MM - TABLE["x_mm"])
    found = changed(image, places, turned(ribbed(), lambda a: a[:, ::-1], degrees=0, mirrored=True))
    assert_same(found, but={"lung.side"})
    np.testing.assert_array_equal(found["lung.side"], -FOUND["lung.side"])


def test_quarter_turn_leaves_what_has_no_up():
    image = radiograph(np.rot90(PIXELS))
    places = TABLE.assign(x_mm=TABLE["y_mm"], y_mm=SIDE * MM - TABLE["x_mm"])
    found = changed(image, places, turned(ribbed(), np.rot90, degrees=-90))
    upright = {name for name in SPECIFIC if name.startswith(("symmetry.", "lung."))} - {
        "lung.inside",
        "lung.depth",
    }
    assert_same(found, but=upright)


def test_shift_by_whole_pixels():
    """Away from the border nothing knows where the image begins (the widest filter reaches 60 mm)."""
    wide = np.pad(PIXELS, 40, mode="edge")
    structures = ribbed()
    padded = {
        name: np.pad(getattr(structures, name), 40)
        for name in ("left_lung", "right_lung", "thorax", "mediastinum", "clavicles")
    } | {name: np.pad(getattr(structures, name), 40, mode="edge") for name in ("ribs", "rib_direction_deg")}
    places = TABLE.assign(x_mm=TABLE["x_mm"] + 40 * MM, y_mm=TABLE["y_mm"] + 40 * MM)
    found = changed(radiograph(wide), places, dataclasses.replace(structures, **padded))
    inner = (TABLE[["x_mm", "y_mm"]].min(axis=1) > 45) & (TABLE[["x_mm", "y_mm"]].max(axis=1) < 179)
    assert inner.sum() >= 4
    assert_same(found[inner], FOUND[inner], but={"blob.conspicuity.s100"})


def test_brighter_image_changes_only_grey_levels():
    found = changed(radiograph(PIXELS + 0.25), TABLE, ribbed())
    assert_same(found, but={"profile.inside_mean"})
    np.testing.assert_allclose(found["profile.inside_mean"], FOUND["profile.inside_mean"] + 0.25, rtol=1e-4)


def test_contrast_scales_the_features_in_grey():
    found = changed(radiograph(1.5 * PIXELS), TABLE, ribbed())
    for feature in CATALOGUE.kind("specific"):
        if feature.unit == "grey":
            spread = FOUND[feature.name].std()
            np.testing.assert_allclose(
                found[feature.name],
                1.5 * FOUND[feature.name],
                rtol=2e-3,
                atol=2e-3 * spread,
                err_msg=feature.name,
            )
        elif feature.family in ("shape", "lung", "ribs", "convergence"):
            np.testing.assert_allclose(
                found[feature.name], FOUND[feature.name], rtol=5e-3, atol=5e-3, err_msg=feature.name
            )


def test_other_grid_measures_the_same_lengths():
    """Pixels half as large: lengths in mm stay."""
    from scipy import ndimage

    fine = ndimage.zoom(PIXELS, 2, order=1, grid_mode=True, mode="nearest")
    found = extract_features(
        radiograph(fine, mm=MM / 2), TABLE, anatomy((2 * SIDE, 2 * SIDE)), features=SPECIFIC, n_threads=1
    )
    for name in (
        "shape.equivalent_diameter",
        "lung.depth",
        "lung.apex_distance",
        "blob.log.s40",
        "profile.contrast",
    ):
        expected = FOUND[name]
        assert np.corrcoef(found[name], expected)[0, 1] > 0.98, name
        np.testing.assert_allclose(found[name].std(), expected.std(), rtol=0.1, err_msg=name)


def test_threads_do_not_change_a_bit():
    places = scattered(120, seed=2)
    one = extract_features(radiograph(PIXELS), places, ribbed(), features=SPECIFIC, n_threads=1)
    for n_threads in (2, 5, None):
        pd.testing.assert_frame_equal(
            one,
            extract_features(radiograph(PIXELS), places, ribbed(), features=SPECIFIC, n_threads=n_threads),
            check_exact=True,
        )


def test_subset_equals_full_in_the_order_asked_for():
    wanted = ["vessel.count", "shape.area", "profile.drop_2", "lung.side", "blob.log.s16"]
    found = extract_features(radiograph(PIXELS), TABLE, ribbed(), features=wanted)
    assert list(found) == ["candidate_id", *wanted]
    pd.testing.assert_frame_equal(found, FOUND[["candidate_id", *wanted]], check_exact=True)


def test_subset_computes_only_its_families():
    """A family that is not asked for is never called."""
    called = []
    spies = Catalogue(
        dataclasses.replace(
            family,
            compute=lambda context, family=family: (
                called.append(family.features[0].family),
                family.compute(context),
            )[1],
        )
        for family in FAMILIES
    )
    extract_features(
        radiograph(PIXELS), TABLE[:2], ribbed(), features=["lung.side", "lung.depth"], catalogue=spies
    )
    assert called == ["lung"]


def test_one_candidate_as_among_many():
    alone = extract_features(radiograph(PIXELS), TABLE[4:5], ribbed(), features=SPECIFIC)
    np.testing.assert_allclose(
        alone[SPECIFIC].to_numpy(), FOUND[SPECIFIC].to_numpy()[4:5], rtol=1e-4, atol=1e-5
    )


def test_columns_are_float32_and_ids_are_kept():
    places = TABLE[:3].assign(candidate_id=["007", "NA", "1.10"])
    found = extract_features(radiograph(PIXELS), places, ribbed(), features=SPECIFIC)
    assert found["candidate_id"].tolist() == ["007", "NA", "1.10"]
    assert {str(dtype) for dtype in found.dtypes[1:]} == {"float32"}


def test_no_candidates():
    found = extract_features(radiograph(PIXELS), TABLE[:0], ribbed())
    assert found.shape == (0, 1 + len(CATALOGUE))


def test_all_with_nothing_but_places():
    """Anatomy and outlines are found; candidates of a detector that gives only places and radii."""
    found = extract_features(radiograph(PIXELS), TABLE[:3])
    assert list(found) == ["candidate_id", *CATALOGUE]
    assert found["candidate_id"].tolist() == ["0", "1", "2"]
    assert np.isfinite(found[list(CATALOGUE)].to_numpy()).all()


def hostile_images():
    saturated = np.where(noise(1.0) > 0, 3.4e38, -3.4e38)
    checks = np.indices((SIDE, SIDE)).sum(axis=0) % 2
    half = np.ones((SIDE, SIDE), dtype=bool)
    half[:, SIDE // 3 :] = False
    return {
        "constant": radiograph(np.full((SIDE, SIDE), 0.5)),
        "zero": radiograph(np.zeros((SIDE, SIDE))),
        "saturated": radiograph(saturated),
        "chessboard": radiograph(checks),
        "one bright pixel": radiograph(np.eye(SIDE) * 1e6),
        "mostly padding": radiograph(PIXELS, valid=half),
        "only padding": radiograph(PIXELS, valid=np.zeros((SIDE, SIDE), dtype=bool)),
    }


AT_THE_BORDER = candidates(
    (0, 0, 5), (224, 224, 30), (0, 112, 1e-3), (224, 0, 500), (112, 112, 8), (70, 100, 1.5), (0.1, 223.9, 40)
)


@pytest.mark.parametrize("name", list(hostile_images()))
@pytest.mark.parametrize("structures", [anatomy(), no_anatomy()], ids=["lungs", "no lungs"])
def test_hostile_images_give_finite_features(name, structures):
    found = extract_features(
        hostile_images()[name], AT_THE_BORDER, structures, features=SPECIFIC, n_threads=1
    )
    assert np.isfinite(found[SPECIFIC].to_numpy()).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (2, 2), (7, 5)])
def test_tiny_images_give_finite_features(shape):
    pixels = np.random.default_rng(0).random(shape)
    places = candidates((0.2, 0.2, 3.0), (shape[1] * MM, shape[0] * MM, 20.0))
    found = extract_features(radiograph(pixels), places, no_anatomy(shape), features=SPECIFIC, n_threads=1)
    assert np.isfinite(found[SPECIFIC].to_numpy()).all()


def test_one_lung_missing():
    structures = dataclasses.replace(anatomy(), right_lung=np.zeros((SIDE, SIDE), dtype=bool))
    found = changed(radiograph(PIXELS), TABLE, structures)
    assert np.isfinite(found[SPECIFIC].to_numpy()).all()
    assert set(found["lung.side"]) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_mm": np.nan}, "not a finite number"),
        ({"y_mm": np.inf}, "not a finite number"),
        ({"radius_mm": 0.0}, "not above 0"),
        ({"radius_mm": -3.0}, "not above 0"),
        ({"x_mm": 5000.0}, "outside the image"),
        ({"x_mm": "left"}, "must be numbers"),
    ],
)
def test_bad_candidates_are_refused_by_name(change, message):
    places = TABLE[:3].astype(object)
    for column, value in change.items():
        places.loc[places.index[1], column] = value
    with pytest.raises(TableError, match=message):
        extract_features(radiograph(PIXELS), places, anatomy(), features=SPECIFIC)


def test_missing_column_is_named():
    with pytest.raises(TableError, match="radius_mm"):
        extract_features(radiograph(PIXELS), TABLE[["x_mm", "y_mm"]], anatomy())


def test_unknown_feature_names_the_nearest():
    with pytest.raises(InvalidInputError, match=r"shape\.area"):
        extract_features(radiograph(PIXELS), TABLE, anatomy(), features=["shape.aera"])


def test_no_threads_is_refused():
    with pytest.raises(InvalidInputError, match="n_threads"):
        extract_features(radiograph(PIXELS), TABLE, anatomy(), features=["lung.side"], n_threads=0)

from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from small_results import ramp

from overread.images import Radiograph, SpacingSource
from overread.report import Pictures, cut_pictures, detections_figure, draw_figures
from overread.report._pictures import cut_crop


def spot(row, column, shape=(120, 100), mm_per_px=0.5):
    pixels = np.zeros(shape, dtype=np.float32)
    pixels[row, column] = 1
    return Radiograph(
        pixels, mm_per_px, np.ones(shape, dtype=bool), SpacingSource.GIVEN, (mm_per_px,) * 2, shape
    )


def pixels_of(crop):
    return np.asarray(Image.open(BytesIO(b64decode(crop.png))))


@pytest.mark.parametrize(("row", "column"), [(60, 50), (0, 0), (119, 99), (3, 97)])
def test_the_place_is_in_the_middle_and_keeps_its_millimetres(row, column):
    radiograph = spot(row, column)
    x, y = (column + 0.5) * 0.5, (row + 0.5) * 0.5
    crop = cut_crop(radiograph, x, y, caption="", side=20)
    pixels = pixels_of(crop)
    brightest = np.argwhere(pixels == pixels.max())[0]
    assert pixels.shape == (40, 40)
    assert np.abs(brightest - 20).max() <= 1
    assert (brightest[1] + 0.5) * 0.5 + crop.left == pytest.approx(x)
    assert (brightest[0] + 0.5) * 0.5 + crop.top == pytest.approx(y)


def test_a_place_outside_the_image_gives_a_black_crop():
    assert not pixels_of(cut_crop(spot(5, 5), 900, -900, caption="")).any()


def test_a_constant_piece_is_not_divided_by_zero():
    flat = replace(spot(5, 5), pixels=np.full((120, 100), 3.0, dtype=np.float32))
    assert not pixels_of(cut_crop(flat, 25, 30, caption="", side=10)).any()


def test_contrast_is_stretched_from_the_1st_to_the_99th_percentile():
    pixels = pixels_of(cut_crop(ramp(), 200, 200, caption=""))
    assert pixels.min() == 0
    assert pixels.max() == 255
    assert np.mean(pixels == 255) == pytest.approx(0.01, abs=0.005)


def test_every_image_is_opened_once_and_at_most_eight_crops_of_a_kind_are_cut(results, pictures):
    opened = []

    def open_image(image_id):
        opened.append(image_id)
        return ramp()

    assert cut_pictures(results, open_image) == pictures
    gallery = results.gallery
    wanted = {
        *results.feature_examples["image_id"],
        *gallery.hits["image_id"].head(8),
        *gallery.misses["image_id"],
        *gallery.false_positives["image_id"],
    }
    assert sorted(opened) == sorted(wanted | {one.image_id for one in results.examples})
    assert [len(crops) for crops in (pictures.hits, pictures.misses, pictures.false_positives)] == [8, 1, 2]


def test_captions_tell_score_and_readers(results, pictures):
    first = results.gallery.hits.iloc[0]
    readers = f"{first.n_readers} of {first.n_readings} readers"
    assert pictures.hits[0].caption == f"score 3.00, {readers}, {first.image_id}"
    assert pictures.misses[0].caption.startswith("no candidate, ")
    assert pictures.misses[0].circle is None
    assert [crop.caption for crop in pictures.false_positives] == [
        f"score 2.00, a real nodule that no reader marked, {first.image_id}",
        f"score 1.50, {first.image_id}",
    ]
    assert [crop.ellipse for crop in pictures.false_positives] == [None, None]


def test_features_have_a_low_and_a_high_example(results, pictures):
    assert list(pictures.features) == [one.name for one in results.models[0].features[:5]]
    for crops in pictures.features.values():
        assert [crop.caption.split(":")[0] for crop in crops] == ["low", "high"]
        for crop in crops:
            x, y, _ = crop.circle
            assert crop.left + crop.side / 2 == pytest.approx(x, abs=1)
            assert crop.top + crop.side / 2 == pytest.approx(y, abs=1)


def rows_of(places, **more):
    """Rows of a gallery: image, x, y and size."""
    table = pd.DataFrame(places, columns=["image_id", "x", "y", "radius"])
    return table.assign(score=np.linspace(3, 1, len(table)), **more)


def as_objects(places):
    table = rows_of(places, semi_minor=4.0, angle_deg=0.0, n_readers=2, n_readings=3)
    return table.rename(columns={"radius": "semi_major"})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["hits", "misses", "false_positives"]),
            st.sampled_from("abcdefgh"),
            st.integers(0, 60),
            st.integers(0, 60),
            st.integers(3, 15),
        ),
        max_size=60,
    )
)
def test_no_place_is_shown_twice_and_no_image_fills_a_row(results, places):
    kinds = {
        kind: [tuple(place[1:]) for place in places if place[0] == kind]
        for kind in ("hits", "misses", "false_positives")
    }
    gallery = replace(
        results.gallery,
        hits=as_objects(kinds["hits"]),
        misses=as_objects(kinds["misses"]),
        false_positives=rows_of(kinds["false_positives"], is_nodule=False),
    )
    bare = replace(results, gallery=gallery, examples=[], feature_examples=results.feature_examples.iloc[:0])
    opened = {name: spot(0, 0, shape=(10, 10)) for name in "abcdefgh"}
    cut = cut_pictures(bare, opened.get)
    shown = []
    for crops in (cut.hits, cut.misses, cut.false_positives):
        images = [crop.caption.split(", ")[-1] for crop in crops]
        assert len(crops) <= 8
        assert max(map(images.count, images), default=0) <= 2
        for crop, image in zip(crops, images, strict=True):
            e, c = crop.ellipse, crop.circle
            place = (e.x, e.y, e.semi_major) if e else c
            shown.append((image, *place))
    for (image, x, y, r), (other, u, v, s) in combinations(shown, 2):
        assert image != other or np.hypot(x - u, y - v) >= max(r, s)
    # What is not shown is left out for one of the three reasons.
    for kind, crops in (("hits", cut.hits), ("misses", cut.misses), ("false_positives", cut.false_positives)):
        if kinds[kind] and not crops:
            assert shown


def test_an_image_that_cannot_be_opened_is_left_out_and_the_others_keep_their_order(results, pictures):
    lost = results.gallery.hits["image_id"].iloc[1]
    found = cut_pictures(results, lambda image_id: None if image_id == lost else ramp())
    kept = [
        crop
        for crop, image_id in zip(pictures.hits, results.gallery.hits["image_id"], strict=False)
        if image_id != lost
    ]
    assert found.hits == kept
    assert len(kept) < len(pictures.hits)


def test_an_example_has_the_pixels_of_its_region(results, pictures):
    for one in results.examples:
        crop = pictures.examples[one.image_id]
        spacing = ramp().mm_per_px
        assert crop.left == pytest.approx(one.left, abs=spacing)
        assert crop.top == pytest.approx(one.top, abs=spacing)
        assert crop.side == pytest.approx(one.side, abs=spacing)
        assert crop.pixels().shape == (round(crop.side / spacing),) * 2


def test_shown_detections_have_their_probability_and_at_most_ten_others_are_dotted():
    n = 15
    table = pd.DataFrame(
        {
            "x": range(10, 10 + n),
            "y": 50.0,
            "radius": 5.0,
            "probability": [0.9 - 0.05 * i for i in range(n)],
            "shown": [True, True] + [False] * (n - 2),
        }
    )
    (axes,) = detections_figure(ramp(), table, unit="mm").axes
    assert [text.get_text() for text in axes.texts] == ["0.90", "0.85"]
    assert sum(patch.get_linestyle() == ":" for patch in axes.patches) == 10
    assert sum(patch.get_linestyle() == "-" for patch in axes.patches) == 2


def test_without_probabilities_ranks_are_written():
    table = pd.DataFrame(
        {"x": [10, 30], "y": 50.0, "radius": 5.0, "probability": np.nan, "rank": [1, 2], "shown": True}
    )
    (axes,) = detections_figure(ramp(), table, unit="mm").axes
    assert [text.get_text() for text in axes.texts] == ["#1", "#2"]
    assert "with rank" in axes.get_title(loc="left")


def test_each_figure_is_an_svg_document(figures):
    assert list(figures) == [
        "readers",
        "marks",
        "choice",
        "paper_choice",
        "importance",
        "froc",
        "calibration",
    ]
    for document in figures.values():
        assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_same_results_give_the_same_bytes_and_ids_differ_between_figures(results, pictures, figures):
    assert draw_figures(results, pictures) == figures
    clips = [
        {one.get("id") for one in ElementTree.fromstring(document).iter() if one.tag.endswith("clipPath")}
        for document in figures.values()
    ]
    assert sum(map(len, clips)) == len(set().union(*clips))


def test_what_the_results_lack_is_not_drawn(results):
    models = [replace(model, reader_importance=pd.DataFrame()) for model in results.models]
    bare = replace(results, paper_choice=None, examples=[], models=models)
    assert list(draw_figures(bare, Pictures())) == ["readers", "choice", "froc", "calibration"]


def test_an_example_without_pixels_is_drawn_on_plain_ground(results, figures):
    plain = draw_figures(replace(results, paper_choice=None), Pictures())["marks"]
    assert "<image" in figures["marks"]
    assert "<image" not in plain

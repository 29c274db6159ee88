"""Images become shards, shards become tables; what was done is not done again."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import InvalidInputError, LeakageError, TableError
from overread.study import parse_settings
from overread.study._store import RunFolder, decode_shard, shard_file
from overread.study.stages.images import (
    QUARANTINED,
    Shards,
    _join_rows,
    _refuse_shared_pixels,
    gather_stage,
    images_stage,
    places_stage,
    shards_view,
)
from overread.tables import named, open_columns
from study_chain import Chain, call_alone, make_workshop
from study_stand_in import FEATURES


def first_images(chain: Chain, n_images: int) -> dict[str, object]:
    """What the stage of the images reads, of a smaller study."""
    return {
        "input/images": chain.inputs.images.head(n_images),
        "input/folder": chain.study,
        "tables/split.parquet": chain.load("tables/split.parquet").head(n_images),
    }


class TestWorkOnImages:
    def test_it_is_done_once(self, chain: Chain, folder: RunFolder, tmp_path: Path) -> None:
        calls = tmp_path / "calls"
        stage = images_stage(make_workshop(folder, calls=str(calls)), own_candidates=False)
        values = first_images(chain, 4)
        assert call_alone(stage, values, chain.settings)
        assert not call_alone(stage, values, chain.settings)
        assert len(calls.read_text().splitlines()) == 2 * 4
        assert call_alone(stage, first_images(chain, 5), chain.settings)
        assert len(calls.read_text().splitlines()) == 2 * 5
        assert len(list(folder.path("shards").iterdir())) == 5

    def test_own_candidates_are_not_looked_for(self, chain: Chain, folder: RunFolder, tmp_path: Path) -> None:
        calls = tmp_path / "calls"
        stage = images_stage(make_workshop(folder, calls=str(calls)), own_candidates=True)
        own = chain.load("tables/candidates.parquet")
        own = own[own["image_id"] != "case 001"]
        call_alone(stage, first_images(chain, 3) | {"input/candidates": own}, chain.settings)
        assert {line.split()[0] for line in calls.read_text().splitlines()} == {"features"}
        for image_id in ("case 000", "case 001", "case 002"):
            shard = decode_shard(folder.path(shard_file(image_id)).read_bytes())
            expected = own.loc[own["image_id"] == image_id, "candidate_id"].tolist()
            assert shard.candidates["candidate_id"].tolist() == expected

    def test_a_bad_image_is_quarantined(self, chain: Chain, folder: RunFolder, tmp_path: Path) -> None:
        study = tmp_path / "study"
        (study / "images").mkdir(parents=True)
        for number in (0, 1):
            name = f"images/{number:03d}.png"
            (study / name).write_bytes((chain.study / name).read_bytes() if number else b"nothing")
        stage = images_stage(make_workshop(folder), own_candidates=False)
        call_alone(stage, first_images(chain, 2) | {"input/folder": study}, chain.settings)
        manifest = {"manifest.json": pd.read_json(folder.path("manifest.json"), typ="series").to_dict()}
        (lost,) = call_alone(QUARANTINED, manifest, chain.settings)
        assert (lost["image_id"], lost["kind"]) == ("case 000", "image")
        assert "000.png" not in lost["reason"]
        shards = call_alone(shards_view(folder), manifest, chain.settings)
        assert [image_id for image_id, _ in shards] == ["case 001"]
        (study / "images/001.png").write_bytes(b"nothing either")
        with pytest.raises(InvalidInputError, match="none of the 2 images"):
            call_alone(stage, first_images(chain, 2) | {"input/folder": study}, chain.settings)

    def test_the_same_file_in_two_splits_is_refused_before_any_work(
        self, chain: Chain, folder: RunFolder, tmp_path: Path
    ) -> None:
        calls = tmp_path / "calls"
        values = first_images(chain, 3)
        values["input/images"] = chain.inputs.images.head(3).assign(path="images/000.png")
        values["tables/split.parquet"] = (
            chain.load("tables/split.parquet")
            .head(3)
            .assign(patient_id=["P1", "P2", "P3"], split=["training", "test", "test"])
        )
        stage = images_stage(make_workshop(folder, calls=str(calls)), own_candidates=False)
        with pytest.raises(LeakageError, match="identical pixels"):
            call_alone(stage, values, chain.settings)
        assert not calls.exists()


class TestGathering:
    def test_rows_are_those_of_the_shards(self, chain: Chain) -> None:
        candidates, store = chain.load("tables/candidates.parquet"), chain.load("features.npy")
        assert chain.load("feature_names.json") == list(FEATURES)
        matrix = np.load(chain.folder.path("features.npy"))
        assert matrix.dtype == np.float32
        assert store.shape == matrix.shape == (len(candidates), len(FEATURES))
        row = 0
        for image_id in chain.inputs.images["image_id"]:
            shard = decode_shard(chain.folder.path(shard_file(image_id)).read_bytes())
            rows = slice(row, row + len(shard.candidates))
            assert np.array_equal(matrix[rows], shard.features[list(FEATURES)])
            assert candidates.iloc[rows]["candidate_id"].tolist() == shard.candidates["candidate_id"].tolist()
            assert set(candidates.iloc[rows]["image_id"]) <= {image_id}
            row = rows.stop
        assert row == len(candidates)

    def test_an_image_with_other_features(self, chain: Chain) -> None:
        shards = list(chain.load("shards"))[:2]
        first = shards[1][1]
        other = replace(first, features=first.features[["candidate_id", *FEATURES[::-1]]])
        with pytest.raises(InvalidInputError, match="'case 001' has other features"):
            chain.call("candidates", shards=[shards[0], ("case 001", other)])

    def test_the_same_pixels_in_two_patients_of_a_nested_run(self, chain: Chain) -> None:
        images = chain.load("tables/split.parquet").assign(split="training")
        first, *_, last = images["image_id"]
        with pytest.raises(LeakageError, match=r"identical pixels.*'patient P"):
            _refuse_shared_pixels(images, dict.fromkeys(images["image_id"]) | {first: "same", last: "same"})
        one, other = images.loc[images["patient_id"] == images["patient_id"][0], "image_id"]
        _refuse_shared_pixels(images, dict.fromkeys(images["image_id"]) | {one: "same", other: "same"})

    def test_images_that_were_given_up_are_not_counted(
        self, chain: Chain, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        """`overread froc` on the tables of a run has the images of the run, not those it could not use."""
        lost = chain.load("tables/split.parquet").query("split == 'test'")["image_id"].iloc[0]
        kept = [(image_id, shard) for image_id, shard in chain.load("shards") if image_id != lost]
        made = chain.call("candidates", shards=kept)
        assert lost in set(chain.load("tables/split.parquet")["image_id"])
        images = made["tables/images.parquet"]
        assert images["image_id"].tolist() == [image_id for image_id, _ in kept]
        scores = chain.load("tables/scores.parquet")
        tables = {
            "images": images,
            "scores": scores[scores["image_id"] != lost],
            "truth": chain.load("tables/truth.parquet"),
            "candidates": made["tables/candidates.parquet"],
        }
        for name, table in tables.items():
            named(table, "mm").to_parquet(tmp_path / f"{name}.parquet")
        files = {name: str(tmp_path / f"{name}.parquet") for name in tables}
        words = ["froc", files["scores"], files["truth"], "--images", files["images"], "--score", "soft"]
        words += ["--candidates", files["candidates"], "--n-bootstrap", "100", "--n-shifts", "0", "--json"]
        for splits in (["test"], ["training", "validation", "test"]):
            assert main([*words, *(word for split in splits for word in ("--split", split))]) == 0
            told = json.loads(capsys.readouterr().out)
            assert told["n_images"] == images["split"].isin(splits).sum()
        # The truth still has the objects of the lost image: without a split that is said, not counted.
        assert main(words) == 4
        assert f"'{lost}' is not in the images" in capsys.readouterr().err

    def test_shards_change_with_their_bytes(self, chain: Chain) -> None:
        view = shards_view(chain.folder)
        one, two = (Shards(chain.folder, {"a": digest}) for digest in ("x", "y"))
        assert view.key is not None
        assert view.key(one) != view.key(two)

    @pytest.mark.parametrize(("n_rows", "sizes"), [(1, [3, 5, 1]), (4, [8, 1]), (100, [9])])
    def test_blocks_of_rows(self, n_rows: int, sizes: list[int]) -> None:
        random = np.random.default_rng(0)
        matrices = [random.normal(size=(n, 2)).astype(np.float32) for n in (3, 0, 5, 1)]
        blocks = list(_join_rows(iter(matrices), n_rows))
        assert [len(block) for block in blocks] == sizes
        assert np.array_equal(np.concatenate(blocks), np.concatenate(matrices))

    def test_tables_are_joined_early(self, chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("overread.study.stages.images.TABLES_AT_ONCE", 2)
        made = chain.call("candidates", shards=list(chain.load("shards"))[:5])
        expected = chain.load("tables/candidates.parquet").head(len(made["tables/candidates.parquet"]))
        pd.testing.assert_frame_equal(made["tables/candidates.parquet"], expected)


class TestOwnTables:
    @pytest.fixture
    def own(self, tmp_path: Path) -> dict[str, object]:
        random = np.random.default_rng(1)
        keys = pd.DataFrame({"image_id": ["a", "a", "b"], "candidate_id": ["1", "2", "1"]}, dtype="str")
        features = pd.concat(
            [keys, pd.DataFrame(random.normal(size=(3, 2)), columns=["f", "g"])], axis=1
        ).iloc[[2, 0, 1]]
        features.to_parquet(tmp_path / "own.parquet", index=False)
        return {
            "input/candidates": keys.assign(x=1.0, y=1.0, radius=1.0, response=0.0),
            "input/features": open_columns(tmp_path / "own.parquet", "features"),
            "tables/split.parquet": pd.DataFrame(
                {"image_id": ["a", "b"], "patient_id": ["P1", "P2"], "split": "training"}, dtype="str"
            ),
            "input/folder": tmp_path,
            "frame": features,
        }

    def call(self, own: dict[str, object], chain: Chain) -> dict[str, object]:
        made = dict(call_alone(gather_stage(own_features=True), own, chain.settings))
        made["features.npy"] = b"".join(made["features.npy"])
        return made

    def test_rows_are_put_into_the_order_of_the_candidates(self, own, chain, tmp_path) -> None:
        made = self.call(own, chain)
        (tmp_path / "f.npy").write_bytes(made["features.npy"])
        matrix = np.load(tmp_path / "f.npy")
        expected = own["input/candidates"].merge(own["frame"], on=["image_id", "candidate_id"])[["f", "g"]]
        assert matrix.dtype == np.float64
        assert np.array_equal(matrix, expected)
        assert made["feature_names.json"] == ["f", "g"]

    def test_rows_without_a_candidate_are_left_out(self, own, chain, tmp_path) -> None:
        own["input/candidates"] = own["input/candidates"].iloc[[2]]
        (tmp_path / "f.npy").write_bytes(self.call(own, chain)["features.npy"])
        assert np.array_equal(np.load(tmp_path / "f.npy"), own["frame"].iloc[[0]][["f", "g"]])

    def test_a_candidate_without_a_row(self, own, chain) -> None:
        stranger = own["input/candidates"].iloc[[0]].assign(candidate_id="9")
        own["input/candidates"] = pd.concat([own["input/candidates"], stranger], ignore_index=True)
        with pytest.raises(TableError, match="no row for candidate '9' of image 'a'"):
            self.call(own, chain)


@pytest.mark.parametrize("table", ["marks", "candidates"])
def test_what_lies_outside_its_image_is_noticed_once_sizes_are_known(
    chain: Chain, tmp_path: Path, table: str
) -> None:
    stage = places_stage(own_candidates=True)
    own = {"marks": chain.inputs.marks, "candidates": chain.load("tables/candidates.parquet")}
    facts = chain.inputs.images[["image_id"]].assign(width_mm=192.0, height_mm=192.0)
    settings = parse_settings({"inputs": {"candidates": "own.csv"}})
    values = {
        "input/folder": tmp_path,
        "tables/image_facts.parquet": facts,
        **{f"input/{name}": frame for name, frame in own.items()},
    }
    assert call_alone(stage, values, settings) == {}
    near, far = own[table].copy(), own[table].copy()
    near.loc[3, "x"], far.loc[5, "y"] = 193.0, -192.0
    with pytest.warns(UserWarning, match=r"row 5, column x_mm: 193 is outside its image"):
        call_alone(stage, values | {f"input/{table}": near}, settings)
    file = "marks" if table == "marks" else r"own\.csv"
    with pytest.raises(
        TableError, match=rf"{file}, row 7, column y_mm: -192 is outside its image by a whole"
    ):
        call_alone(stage, values | {f"input/{table}": far}, settings)


def test_the_size_is_the_file_s_and_not_that_of_the_grid(chain: Chain, tmp_path: Path) -> None:
    """Rounding to pixels of the grid makes an image smaller or larger by half of one: here 0.3 mm and 0.1 mm."""
    images = chain.inputs.images
    facts = images[["image_id"]].assign(
        width_mm=300.0,
        height_mm=200.0,
        source_shape=[[667, 1001]] * len(images),
        source_mm_per_px=[[0.3, 0.3]] * len(images),
    )
    marks = chain.inputs.marks.copy()
    marks.loc[0, ["x", "y"]] = [300.29, 200.09]
    values = {"input/folder": tmp_path, "tables/image_facts.parquet": facts, "input/marks": marks}
    stage = places_stage(own_candidates=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call_alone(stage, values, chain.settings) == {}
    marks.loc[0, "x"] = 300.31
    with pytest.warns(UserWarning, match=r"row 2, column x_mm: 300.31 is outside its image"):
        call_alone(stage, values, chain.settings)


def test_without_sizes_nothing_is_said(chain: Chain) -> None:
    stage = places_stage(own_candidates=False)
    values = {"tables/image_facts.parquet": chain.inputs.images[["image_id"]]}
    assert call_alone(stage, values, chain.settings) == {}

"""What a study's folder may bring along, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import DataWarning, InvalidInputError, LeakageError, TableError, UsageError
from overread.study import open_run, read_settings, run_study
from overread.study._inputs import read_inputs
from overread.tables import _files as table_files
from overread.tables import read_table, write_table
from study_chain import PAGE, leave_out
from study_stand_in import LIGHT, spec
from study_trees import content


def bring(study: Path, source: Path, *kinds: str) -> None:
    """Take tables of a finished run as the study's own."""
    run = open_run(source / "runs/main")
    tables = {"candidates": run.table("candidates"), "features": run.features()}
    for kind in kinds:
        write_table(tables[kind], study / f"own {kind}.{'csv' if kind == 'candidates' else 'parquet'}")
    lines = [f'{kind} = "own {kind}.{"csv" if kind == "candidates" else "parquet"}"' for kind in kinds]
    (study / "study.toml").write_text(LIGHT + "\n[inputs]\n" + "\n".join(lines))


def numbers_of(results: bytes) -> dict[str, Any]:
    """Results without what they say of where candidates and features came from."""
    record = json.loads(results)
    del record["settings"]["inputs"]
    for name in ("own_candidates", "own_features", "compared"):
        del record["study"][name]
    return record


def test_own_candidates_get_features(fresh_numbers: Path, light_numbers_original: Path) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates")
    calls = fresh_numbers / "calls"
    run_study(fresh_numbers, pipeline=spec(calls=str(calls)))
    assert {line.split()[0] for line in calls.read_text().splitlines()} == {"features"}
    own, found = (content(folder / "runs/main") for folder in (fresh_numbers, light_numbers_original))
    assert own["tables/scores.parquet"] == found["tables/scores.parquet"]
    assert numbers_of(own["results.json"]) == numbers_of(found["results.json"])


def test_own_candidates_and_features_need_no_image(fresh_numbers: Path, light_numbers_original: Path) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates", "features")
    shutil.rmtree(fresh_numbers / "images")
    images = read_table(fresh_numbers / "images.csv", "images").drop(
        columns=["path", "mm_per_px_x", "mm_per_px_y"]
    )
    write_table(images, fresh_numbers / "images.csv")
    report = run_study(fresh_numbers, pipeline=spec())
    assert "images" not in report.done
    own, found = (content(folder / "runs/main") for folder in (fresh_numbers, light_numbers_original))
    assert numbers_of(own["results.json"]) == numbers_of(found["results.json"])
    assert run_study(fresh_numbers, pipeline=spec()).done == []
    features = pd.read_parquet(fresh_numbers / "own features.parquet")
    features["noise_a"] += 1.0
    write_table(features, fresh_numbers / "own features.parquet")
    assert "grid_soft" in run_study(fresh_numbers, pipeline=spec()).done


def test_a_detector_or_groups_of_an_earlier_run_do_not_stay(light_numbers: Path) -> None:
    """They would be taken for this run's: the one is offered to users, the others hide its results."""
    root = light_numbers / "runs/main"
    left = [root / name for name in ("detector.json", "stages/detector.json", "groups.json")]
    for path in left:
        path.write_text("{}")
    run_study(light_numbers, pipeline=spec())
    assert not any(path.exists() for path in left)
    assert open_run(root).results.supported == "soft"


def with_split(study: Path, split: list[str]) -> None:
    images = read_table(study / "images.csv", "images")
    images["split"] = split
    write_table(images, study / "images.csv")


def read(study: Path) -> Any:
    return read_inputs(study, read_settings(study / "study.toml"))


def test_own_features_alone(fresh_numbers: Path, light_numbers_original: Path) -> None:
    bring(fresh_numbers, light_numbers_original, "features")
    with pytest.raises(InvalidInputError, match="give candidates"):
        read(fresh_numbers)


@pytest.mark.parametrize(
    ("kind", "column", "row", "value", "told"),
    [
        ("candidates", "image_id", 4, "nobody", "row 6, column image_id: 'nobody' is not in the images"),
        ("candidates", "response", 3, float("nan"), "row 5, column response: is empty"),
        ("images", "split", slice(None), "train", "row 2, column split: 'train'"),
        ("images", "path", 3, "", "row 5, column path"),
    ],
)
def test_a_cell_that_is_wrong_is_named(
    fresh_numbers: Path,
    light_numbers_original: Path,
    kind: str,
    column: str,
    row: Any,
    value: object,
    told: str,
) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates")
    path = fresh_numbers / ("own candidates.csv" if kind == "candidates" else f"{kind}.csv")
    table = read_table(path, kind)
    table.loc[row, column] = value
    write_table(table, path)
    with pytest.raises(TableError, match=told):
        read(fresh_numbers)


def test_own_candidates_without_a_response(fresh_numbers: Path, light_numbers_original: Path) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates")
    path = fresh_numbers / "own candidates.csv"
    write_table(read_table(path, "candidates").drop(columns="response"), path)
    assert (read(fresh_numbers).candidates["response"] == 0).all()


def test_a_patient_in_two_splits(fresh_numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = [("training", "validation", "test")[number % 3] for number in range(36)]
    with_split(fresh_numbers, split)
    with pytest.raises(LeakageError):
        run_study(fresh_numbers, pipeline=spec())
    assert main(["run", str(fresh_numbers)]) == 7
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("reencoded", [False, True])
def test_identical_pixels_in_two_splits(fresh_numbers: Path, reencoded: bool) -> None:
    split = [("training", "validation", "test")[(number // 2) % 3] for number in range(36)]
    with_split(fresh_numbers, split)
    pixels = cv2.imread(str(fresh_numbers / "images/000.png"), cv2.IMREAD_GRAYSCALE)
    options = [cv2.IMWRITE_PNG_COMPRESSION, 0] if reencoded else []
    cv2.imwrite(str(fresh_numbers / "images/002.png"), pixels, options)
    same_bytes = (fresh_numbers / "images/000.png").read_bytes() == (
        fresh_numbers / "images/002.png"
    ).read_bytes()
    assert same_bytes != reencoded
    with pytest.raises(LeakageError, match="identical pixels"):
        run_study(fresh_numbers, pipeline=spec())


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a\0b"])
def test_a_run_with_a_name_that_is_no_name(light_numbers: Path, name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        run_study(light_numbers, name=name, pipeline=spec())


HOSTILE = ("NA", "00123", " x ", "../../etc/passwd", "=1+1", "a" * 5000, "ü∂", "None")


def test_hostile_image_ids_are_kept_exactly(fresh_numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(monkeypatch, ["results", *PAGE])
    renamed = {f"case {number:03d}": name for number, name in enumerate(HOSTILE, start=1)}
    for kind in ("images", "readings", "marks"):
        table = read_table(fresh_numbers / f"{kind}.csv", kind)
        table["image_id"] = table["image_id"].replace(renamed).astype("str")
        write_table(table, fresh_numbers / f"{kind}.csv")
    report = run_study(fresh_numbers, pipeline=spec())
    assert report.n_quarantined == 0
    for name in ("images", "candidates", "scores"):
        assert {*HOSTILE} <= set(pd.read_parquet(report.folder / f"tables/{name}.parquet")["image_id"])
    assert all(len(path.name) < 60 for path in report.folder.rglob("*"))


def test_a_new_reader_leaves_the_codes_of_the_others(light_numbers: Path) -> None:
    codes = pd.read_csv(light_numbers / "reader_codes.csv").set_index("reader_id")["code"]
    readings = read_table(light_numbers / "readings.csv", "readings")
    added = pd.DataFrame({"image_id": ["case 000"], "reader_id": ["Adams"]})
    write_table(pd.concat([readings, added], ignore_index=True), light_numbers / "readings.csv")
    run_study(light_numbers, pipeline=spec())
    after = pd.read_csv(light_numbers / "reader_codes.csv").set_index("reader_id")["code"]
    assert after[codes.index].equals(codes)
    assert after["Adams"] == f"R{len(codes) + 1}"


NAMES = ("Smith", "Jones", "Meier", "Weber", "Rossi")


def test_names_of_readers_and_patients_and_files_stay_in_the_study_folder(numbers: Path) -> None:
    images = read_table(numbers / "images.csv", "images")
    images["patient_id"] = [f"Mustermann^Erika {number // 2}" for number in range(36)]
    (numbers / "images/004.png").rename(numbers / "images/Mustermann Erika.png")
    images.loc[4, "path"] = "images/Mustermann Erika.png"
    (numbers / "images/005.png").rename(numbers / "images/Mustermann Max.png")
    (numbers / "images/Mustermann Max.png").write_bytes(b"broken")
    images.loc[5, "path"] = "images/Mustermann Max.png"
    write_table(images, numbers / "images.csv")
    report = run_study(numbers, pipeline=spec())
    assert report.n_quarantined == 1
    for path in report.folder.rglob("*"):
        assert not any(name in path.name for name in (*NAMES, "Mustermann"))
        if path.is_file():
            bytes_of_file = path.read_bytes()
            for name in (*NAMES, "Mustermann", "Erika"):
                assert name.encode() not in bytes_of_file, path
            if path.suffix == ".parquet":
                texts = pd.read_parquet(path).select_dtypes("str").to_numpy().ravel().tolist()
                assert not any(name in str(text) for text in texts for name in (*NAMES, "Mustermann"))


@pytest.mark.parametrize("code", ["R1", "Smith"])
def test_codes_of_readers_that_are_none(light_numbers: Path, code: str) -> None:
    codes = pd.read_csv(light_numbers / "reader_codes.csv")
    codes.loc[1, "code"] = code
    codes.to_csv(light_numbers / "reader_codes.csv", index=False)
    with pytest.raises(TableError, match=rf"reader_codes.csv, row 3, column code: '{code}'"):
        run_study(light_numbers, pipeline=spec())


@pytest.mark.parametrize("kind", ["marks", "readings", "images", "candidates"])
def test_a_table_that_is_saved_while_it_is_read_is_noticed_by_the_next_run(
    fresh_numbers: Path, light_numbers_original: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates")
    path = fresh_numbers / ("own candidates.csv" if kind == "candidates" else f"{kind}.csv")
    honest = table_files.read_table_bytes
    settings = read_settings(fresh_numbers / "study.toml")

    def read_and_save(place: Path) -> bytes:
        content = honest(place)
        if place == path:
            path.write_bytes(content + b"\n")
        return content

    with monkeypatch.context() as patch:
        patch.setattr(table_files, "read_table_bytes", read_and_save)
        first = read_inputs(fresh_numbers, settings).digests
    second = read_inputs(fresh_numbers, settings).digests
    assert {name for name in first if first[name] != second[name]} == {kind}


def test_features_that_are_saved_while_they_are_read_are_refused(
    fresh_numbers: Path, light_numbers_original: Path
) -> None:
    bring(fresh_numbers, light_numbers_original, "candidates", "features")
    features = read_inputs(fresh_numbers, read_settings(fresh_numbers / "study.toml")).features
    assert features is not None
    columns = features.columns()
    next(columns)
    table = read_table(fresh_numbers / "own features.parquet", "features")
    write_table(table.assign(peak=0.0), fresh_numbers / "own features.parquet")
    with pytest.raises(TableError, match=r"own features\.parquet: changed while it was read"):
        list(columns)


def test_decisions_of_a_chair_are_used_where_the_settings_name_them(fresh_numbers: Path) -> None:
    """Unnamed they are told of; a changed table merges anew; other images and groups of labels are refused."""
    path, place = fresh_numbers / "adjudication.csv", fresh_numbers / "study.toml"
    path.write_text("image_id,truth_id,decision\ncase 000,T1,unsure\n")
    with pytest.warns(DataWarning, match="adjudication.csv exists but is not used"):
        assert read_inputs(fresh_numbers, read_settings(place)).adjudication is None
    place.write_text(LIGHT + '\n[inputs]\nadjudication = "adjudication.csv"\n')
    first = read_inputs(fresh_numbers, read_settings(place))
    assert first.adjudication["decision"].tolist() == ["unsure"]
    path.write_text("image_id,truth_id,decision\ncase 000,T1,open\n")
    second = read_inputs(fresh_numbers, read_settings(place))
    assert first.sources()["input/adjudication"].digest != second.sources()["input/adjudication"].digest
    path.write_text("image_id,truth_id,decision\nelsewhere,T1,open\n")
    with pytest.raises(TableError, match="'elsewhere' is not in the images"):
        read_inputs(fresh_numbers, read_settings(place))
    place.write_text('[inputs]\nadjudication = "adjudication.csv"\n[labels]\ngroups = {a = ["b"]}\n')
    with pytest.raises(InvalidInputError, match="use one of the two"):
        read_settings(place)

import json

import pandas as pd
import pytest

from overread.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "s"
    assert (
        main(["simulate", str(path), "--n-images", "2", "--readers", "5", "--grid-mm", "1.4", "--seed", "4"])
        == 0
    )
    return path


def order(folder, *more: str) -> list[str]:
    return ["simulate", str(folder), "--n-images", "2", "--readers", "5", "--grid-mm", "1.4", *more]


def test_it_writes_a_study(folder, capsys):
    assert {p.name for p in folder.iterdir()} == {
        "images", "images.csv", "known", "marks.csv", "readings.csv", "study.toml",
    }  # fmt: skip
    assert main(["check", str(folder)]) == 0
    capsys.readouterr()


def test_json_counts_the_study(folder, capsys):
    assert main(order(folder, "--seed", "4", "--json")) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["images"] == 2
    assert counts["readings"] in range(8, 11)


def test_another_seed_is_refused_in_one_line(refused, folder):
    assert "another seed" in refused(order(folder, "--seed", "5"), 4)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--benchmark", "nih-240x3"], "cannot be combined with --benchmark: a frozen"),
        (
            ["--benchmark", "nih-240x3", "--nodules", "varied"],
            "cannot be combined with --benchmark: a frozen",
        ),
        (["--workers", "0"], "from 1"),
        (["--seed", "-1"], "--seed"),
        (["--images-csv", "t.csv"], "folder of backgrounds"),
    ],
)
def test_wrong_orders_end_in_a_line(refused, tmp_path, more, message):
    assert message in refused(order(tmp_path / "s", *more), 2)


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    path = tmp_path_factory.mktemp("fields") / "s"
    assert main(["simulate", str(path), "--kind", "field", "--n-images", "3", "--readers", "3"]) == 0
    return path


def test_a_study_of_fields_is_counted_and_merged(fields, capsys, tmp_path):
    assert (
        main(["simulate", str(fields), "--kind", "field", "--n-images", "3", "--readers", "3", "--json"]) == 0
    )
    counts = json.loads(capsys.readouterr().out)
    assert (counts["images"], counts["readers"], counts["readings"]) == (3, 3, 9)
    assert counts["lesions"] > 0
    assert main(["merge", str(fields), "--nested", "votes", "--output", str(tmp_path / "truth.csv")]) == 0
    assert {"bright", "dark"} >= set(pd.read_csv(tmp_path / "truth.csv")["label"])
    assert main(["check", str(fields), "--skip-files"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "more",
    [["--format", "dicom"], ["--benchmark", "phantom-1978"], ["--grid-mm", "1"], ["--nodules", "varied"]],
)
def test_what_a_field_does_not_have_is_refused(refused, tmp_path, more):
    assert "without a scale" in refused(["simulate", str(tmp_path / "s"), "--kind", "field", *more], 2)
    assert not (tmp_path / "s").exists()

from __future__ import annotations

import json

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


def test_another_seed_is_refused_in_one_line(folder, capsys):
    assert main(order(folder, "--seed", "5")) == 4
    assert "another seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--benchmark", "nih-240x3"], "leave those options out"),
        (["--workers", "0"], "from 1"),
        (["--seed", "-1"], "--seed"),
        (["--images-csv", "t.csv"], "folder of backgrounds"),
    ],
)
def test_wrong_orders_end_in_a_line(tmp_path, capsys, more, message):
    assert main(order(tmp_path / "s", *more)) == 2
    assert message in capsys.readouterr().err

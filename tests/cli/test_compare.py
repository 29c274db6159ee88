"""`overread compare`: two models in one file or in two."""

import json

import numpy as np
import pytest

from overread.cli import main

QUICK = ("--n-bootstrap", "100", "--n-permutations", "60", "--fp", "0.5", "--fp", "1")


@pytest.fixture
def study(tmp_path):
    """40 images; `good` sees the lesions, `bad` rates them like anything else."""
    rng = np.random.default_rng(3)
    truth, rows = [], []
    for i in range(40):
        if i < 20:
            truth.append(f"i{i},100,100,8\n")
            rows.append((f"i{i}", 101, 99, rng.normal(3), rng.normal()))
        rows += [(f"i{i}", 200 + 10 * k, 50, rng.normal(), rng.normal()) for k in range(4)]
    (tmp_path / "truth.csv").write_text("image_id,x_mm,y_mm,radius_mm\n" + "".join(truth))
    (tmp_path / "both.csv").write_text(
        "image_id,x_mm,y_mm,good,bad\n" + "".join(f"{i},{x},{y},{a:.4f},{b:.4f}\n" for i, x, y, a, b in rows)
    )
    for name, column in (("good", 3), ("bad", 4)):
        (tmp_path / f"{name}.csv").write_text(
            "image_id,x_mm,y_mm,score\n" + "".join(f"{r[0]},{r[1]},{r[2]},{r[column]:.4f}\n" for r in rows)
        )
    return tmp_path


def run_json(capsys, *arguments: object):
    assert main([*map(str, arguments), "--n-images", "40", *QUICK, "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_one_file_or_two_give_the_same_answer(study, capsys):
    truth = study / "truth.csv"
    one = run_json(capsys, "compare", study / "both.csv", truth)
    figure = study / "both.png"
    two = run_json(capsys, "compare", study / "good.csv", study / "bad.csv", truth, "--figure", figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert (two["first"], two["second"]) == ("good", "bad")
    assert one == two
    assert [row["figure"] for row in one["figures_of_merit"]] == ["AFROC", "wAFROC"]
    main_figure = one["figures_of_merit"][1]
    assert main_figure["difference"] < 0
    assert main_figure["p_permutation"] < 0.05
    assert one["verdict"][0].startswith("good is better on these images")
    assert len(one["points"]) == 4


def test_a_model_against_itself_cannot_be_told_apart(study, capsys):
    (study / "twin.csv").write_text((study / "good.csv").read_text())
    report = run_json(capsys, "compare", study / "good.csv", study / "twin.csv", study / "truth.csv")
    assert report["verdict"][0].startswith("good and twin cannot be distinguished")
    assert all(row["difference"] == 0 for row in report["points"])


def test_only_positive_images_use_the_figures_over_all_cases(answer, study):
    lines = (study / "both.csv").read_text().splitlines(keepends=True)
    kept = [line for line in lines[1:] if int(line.split(",")[0][1:]) < 20]
    (study / "positive.csv").write_text(lines[0] + "".join(kept))
    arguments = ["compare", str(study / "positive.csv"), str(study / "truth.csv"), "--n-images", "20", *QUICK]
    report = answer(arguments)
    assert [row["figure"] for row in report["figures_of_merit"]] == ["AFROC1", "wAFROC1"]


@pytest.mark.parametrize(
    ("files", "options", "words"),
    [
        (("both.csv", "truth.csv"), (), "how many images"),
        (("good.csv", "truth.csv"), ("--n-images", "40"), "compare needs two models"),
        (("good.csv", "good.csv", "truth.csv"), ("--n-images", "40"), "both models have the name 'good'"),
    ],
)
def test_mistakes_get_one_line(refused, study, files, options, words):
    assert words in refused(["compare", *(str(study / name) for name in files), *options, *QUICK], 2)


def test_a_split_that_nobody_has_is_refused(study, refused):
    (study / "images.csv").write_text("image_id,split\n" + "".join(f"i{i},test\n" for i in range(40)))
    words = ["compare", study / "both.csv", study / "truth.csv", "--images", study / "images.csv"]
    assert "no image has split 'tset'; the splits are ['test']" in refused([*words, "--split", "tset"], 4)

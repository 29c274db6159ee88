"""What a change makes anew: exactly what depends on it."""

from functools import partial
from pathlib import Path

import cv2
import pytest

from overread.study import run_study
from overread.tables import read_table, write_table
from study_stand_in import spec
from study_trees import content

MODELS = ("soft", "b1", "b2")
long = partial(pytest.param, marks=pytest.mark.slow)


def try_on_folds(model: str, n_folds: int = 2) -> set[str]:
    """Stages that try a model's settings on folds."""
    return {f"fold_{k + 1}_{model}" for k in range(n_folds)}


SOFT = {
    "paper_choice", "grid_soft", *try_on_folds("soft"), "tuning_soft", "soft", "calibration_soft", "supported",
}  # fmt: skip
END = {"scores", "operating_points", "results"}
# What follows from other scores, should they differ.
FOLLOWING = {
    "scores", "operating_points", "supported",
    *(f"{what}_{name}" for what in ("tuning", "calibration") for name in MODELS),
}  # fmt: skip


def rerun(study: Path, **options: object) -> tuple[set[str], set[str]]:
    """Stages that were done, and images that were worked on, with the kind of work."""
    calls = study / "calls"
    calls.unlink(missing_ok=True)
    report = run_study(study, pipeline=spec(calls=str(calls), **options))
    return set(report.done), set(calls.read_text().splitlines()) if calls.exists() else set()


def change_settings(study: Path, old: str, new: str) -> None:
    path = study / "study.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_changed_nothing_done(light_numbers: Path) -> None:
    before = content(light_numbers / "runs" / "main")
    assert rerun(light_numbers) == (set(), set())
    assert content(light_numbers / "runs" / "main") == before


def test_one_byte_of_one_image(light_numbers: Path) -> None:
    path = light_numbers / "images" / "004.png"
    pixels = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    pixels[40, 40] ^= 1
    cv2.imwrite(str(path), pixels)
    done, work = rerun(light_numbers)
    assert work == {"candidates case 004", "features case 004"}
    assert done >= {"images", *SOFT}
    assert not done & {"truth", "split"}


def test_a_byte_that_changes_no_pixel_stops_at_the_shard(light_numbers: Path) -> None:
    path = light_numbers / "images" / "004.png"
    path.write_bytes(path.read_bytes() + b"\0")
    done, work = rerun(light_numbers)
    assert work == {"candidates case 004", "features case 004"}
    assert done == {"images"}


def test_another_feature_version_keeps_the_candidates(light_numbers: Path) -> None:
    done, work = rerun(light_numbers, feature_version="f2")
    assert work == {f"features case {number:03d}" for number in range(36)}
    assert done == {"images"}


def test_another_limit_gives_other_candidates_and_models(light_numbers: Path) -> None:
    done, work = rerun(light_numbers, limit=8)
    assert len(work) == 72
    assert done >= {"images", "candidates", *SOFT, *END}


def test_a_spacing(light_numbers: Path) -> None:
    images = read_table(light_numbers / "images.csv", "images")
    images.loc[5, ["mm_per_px_x", "mm_per_px_y"]] = 2.1
    write_table(images, light_numbers / "images.csv")
    done, work = rerun(light_numbers)
    assert work == {"candidates case 005", "features case 005"}
    assert "truth" not in done


def test_a_renamed_file_changes_nothing(light_numbers: Path) -> None:
    images = read_table(light_numbers / "images.csv", "images")
    (light_numbers / "images" / "005.png").rename(light_numbers / "images" / "other.png")
    images.loc[5, "path"] = "images/other.png"
    write_table(images, light_numbers / "images.csv")
    assert rerun(light_numbers) == ({"split"}, set())


def test_a_mark(light_numbers: Path) -> None:
    marks = read_table(light_numbers / "marks.csv", "marks")
    marks.loc[0, "x_mm"] += 3.0
    write_table(marks, light_numbers / "marks.csv")
    done, work = rerun(light_numbers)
    assert not work
    assert done >= {"truth", *SOFT, *END}
    assert not done & {"images"}


def test_the_order_of_the_marks_stops_at_the_truth(light_numbers: Path) -> None:
    marks = read_table(light_numbers / "marks.csv", "marks")
    write_table(marks.iloc[::-1], light_numbers / "marks.csv")
    assert rerun(light_numbers) == ({"truth", "check_places"}, set())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("fp_targets = [0.5, 2.0]", "fp_targets = [0.5, 3.0]", {"operating_points", "results"}),
        long("n_bootstrap = 100", "n_bootstrap = 101", {"paper_choice", "grid_soft", "results"}),
        long("chance_shifts = 3", "chance_shifts = 2", {"results"}),
        long("[b2]", "[b2]\nmax_iter = 999", {"grid_b2", *try_on_folds("b2"), "b2", "results"}),
        (
            "folds = 2",
            "folds = 3",
            {
                "check_models",
                "grid_b2",
                "b2",
                *(stage for name in MODELS for stage in try_on_folds(name, 3)),
                *FOLLOWING,
                "results",
            },
        ),
        ('executor = "serial"', 'executor = "serial"\nbatch = 3', set()),
        ("seed = 3", "seed = 3\n[limits]\nseconds_per_image = 9.0", set()),
        ("[soft]", "[soft]\ntolerance = 0.021", {"paper_choice", "grid_soft", "results"}),
        long(
            "[models]",
            "[models]\nstandard_errors = 1.5",
            {"paper_choice", "grid_soft", *(f"tuning_{name}" for name in MODELS), "supported", "results"},
        ),
        ("[b1]", "[boosted]\nn_trees = [7]\n[b1]", set()),
        long(
            "[evaluation]",
            "[evaluation]\nlevel = 0.9",
            {"split", "grid_b2", *try_on_folds("b2"), "b2", "results"},
        ),
    ],
)
def test_a_setting(numbers: Path, old: str, new: str, expected: set[str]) -> None:
    """Exactly the stages that depend on it, and what follows from another content of their files."""
    change_settings(numbers, old, new)
    done, work = rerun(numbers)
    assert not work
    assert done - FOLLOWING == expected - FOLLOWING
    assert done >= expected


def test_a_damaged_shard_is_made_again(light_numbers: Path) -> None:
    before = content(light_numbers / "runs" / "main")
    shard = sorted((light_numbers / "runs/main/shards").glob("*.parquet"))[3]
    damaged = bytearray(shard.read_bytes())
    damaged[100] ^= 1
    shard.write_bytes(damaged)
    done, work = rerun(light_numbers)
    assert len(work) == 2
    assert done == {"images"}
    assert content(light_numbers / "runs" / "main") == before


def test_an_image_that_left_the_study_takes_its_shard_along(light_numbers: Path) -> None:
    for kind in ("images", "readings", "marks"):
        table = read_table(light_numbers / f"{kind}.csv", kind)
        write_table(table[table["image_id"] != "case 035"], light_numbers / f"{kind}.csv")
    rerun(light_numbers)
    assert len(list((light_numbers / "runs/main/shards").glob("*"))) == 35

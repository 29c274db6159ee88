"""What the commands share: seeds, places, spacings, the loop over images, simulated studies, and how they print."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import overread.study
from overread._commands import (
    ImageFile,
    ImageTableOptions,
    check_seed,
    emit,
    find_image,
    list_images,
    make_table,
    open_detector,
    open_domain,
    parse_spacing,
    print_plain,
    print_warnings,
    refuse_to_overwrite,
    run_simulated,
    write_image_table,
)
from overread._terminal import make_console
from overread.cli import main
from overread.errors import DataWarning, InvalidInputError, TableError, UsageError
from overread.images import write_png16
from overread.simulate import CHEST_LAYOUT, FIELD_LAYOUT


@pytest.mark.parametrize("as_json", [True, False])
def test_a_result_is_printed_for_machines_or_for_people(capsys, as_json):
    emit({"é": float("nan"), "n": 1}, lambda record: print_plain(f"{record['n']} found"), as_json=as_json)
    assert capsys.readouterr().out == ('{"é": null, "n": 1}\n' if as_json else "1 found\n")


def test_cells_are_no_markup_and_are_whole_where_the_terminal_is_narrow(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    make_console().print(make_table(("[b]what", "n"), [("[red]x[/red] " + "y" * 40, 5)], right=slice(1, 2)))
    told = capsys.readouterr().out
    assert "[b]what" in told
    assert "[red]x[/red]" in told
    assert (told.count("y"), "…" in told) == (40, False)


@pytest.mark.parametrize("word", ["--out", "--out=x"])
def test_the_old_name_of_output_is_told_the_new_one(capsys, word):
    assert main(["import", "f.xml", word, "x"]) == 2
    assert "overread: --out is called --output, or -o for short\n" in capsys.readouterr().err


def test_a_file_may_be_called_out(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["check", "--", "--out"])
    assert "is called" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [("froc", "scores.csv", "truth.csv"), ("compare", "a.csv", "b.csv", "truth.csv"), ("demo",)]
)
@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_a_seed_out_of_range_is_a_mistake_in_use(command, seed, capsys):
    assert main([*command, "--seed", seed]) == 2
    assert f"--seed {seed}: need a whole number from 0" in capsys.readouterr().err


def test_good_seeds_are_kept():
    assert [check_seed(seed) for seed in (0, 2**32 - 1)] == [0, 2**32 - 1]


def test_an_input_is_not_overwritten_by_any_of_its_names(tmp_path):
    image = tmp_path / "a.png"
    image.touch()
    (tmp_path / "link.png").symlink_to(image)
    refuse_to_overwrite([image], [tmp_path / "b.png"])
    for name in ("a.png", "link.png", "../" + tmp_path.name + "/a.png"):
        with pytest.raises(UsageError, match="is one of the files to read"):
            refuse_to_overwrite([image], [tmp_path / name])


def test_a_detector_is_found_by_file_and_by_folder(trained, tmp_path):
    path = trained.detector.write(tmp_path / "detector.json")
    assert open_detector(path).name == open_detector(tmp_path).name == trained.detector.name


def test_text_is_printed_as_it_is(capsys):
    text = "[red]case[/red] :smile: " + "x" * 300
    print_plain(text)
    assert capsys.readouterr().out == text + "\n"
    print_plain("to the error stream", stderr=True)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "to the error stream\n")


def test_warnings_become_one_line_each(capsys):
    with print_warnings():
        warnings.warn("few marks", DataWarning, stacklevel=1)
    assert capsys.readouterr().err == "overread: warning: few marks\n"


@pytest.mark.parametrize(
    ("text", "expected"), [(None, None), ("0.7", (0.7, 0.7)), ("0.143,0.168", (0.143, 0.168))]
)
def test_a_spacing_is_one_number_or_two(text, expected):
    assert parse_spacing(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1,2,3", "a,b", "0.7,"])
def test_other_spacings_are_refused(text):
    with pytest.raises(
        UsageError, match=r"--mm-per-px .*: give one positive number such as 0\.143, or two as 0\.14,0\.15"
    ):
        parse_spacing(text)


def test_files_of_a_folder_have_the_ids_that_init_gives(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("b.png", "deep/a.tif"):
        (tmp_path / name).write_bytes(b"")
    assert list_images(tmp_path, mm_per_px=(0.5, 0.5)) == [
        ImageFile("b", tmp_path / "b.png", (0.5, 0.5)),
        ImageFile("a", tmp_path / "deep/a.tif", (0.5, 0.5)),
    ]


def test_a_table_of_images_names_them_and_wins_with_its_spacing(tmp_path):
    rows = "image_id,path,mm_per_px_x,mm_per_px_y\n007,x/a.png,0.1,0.2\n008,b.png,,\n"
    (tmp_path / "images.csv").write_text(rows)
    assert list_images(tmp_path, mm_per_px=(0.5, 0.6)) == [
        ImageFile("007", tmp_path / "x/a.png", (0.1, 0.2)),
        ImageFile("008", tmp_path / "b.png", (0.5, 0.6)),
    ]


def test_what_cannot_be_listed_is_said(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no image in this folder"):
        list_images(tmp_path)
    (tmp_path / "images.csv").write_text("image_id\n1\n")
    with pytest.raises(TableError, match="no column path"):
        list_images(tmp_path)
    (tmp_path / "images.csv").write_text("image_id,path\n1,\n")
    with pytest.raises(TableError, match="has no path"):
        list_images(tmp_path)


def test_an_image_of_a_runs_study_is_found_by_any_of_its_names(tmp_path):
    (tmp_path / "images.csv").write_text("image_id,path,mm_per_px_x,mm_per_px_y\n007,x/a.png,0.1,0.2\n")
    run = tmp_path / "runs" / "main"
    run.mkdir(parents=True)
    wanted = ImageFile("007", tmp_path / "x/a.png", (0.1, 0.2))
    for name in ("007", "a.png", "a"):
        assert find_image(Path(name), run) == wanted
    assert find_image(Path("b.png"), run, mm_per_px=(1.0, 1.0)) == ImageFile("b", Path("b.png"), (1.0, 1.0))
    (tmp_path / "c.png").touch()
    assert find_image(tmp_path / "c.png", run).path == tmp_path / "c.png"


@pytest.fixture
def folder(tmp_path):
    """Three images, the second broken."""
    images = tmp_path / "images"
    images.mkdir()
    for name in ("a.png", "c.png"):
        write_png16(images / name, np.arange(600, dtype=np.uint16).reshape(20, 30))
    (images / "b.png").write_bytes(b"no image")
    return images


def width_of(image, radiograph):
    return pd.DataFrame({"candidate_id": ["1"], "width_mm": [radiograph.size_mm[0]]})


COLUMNS = {"candidate_id": "str", "width_mm": "float64"}


def options(folder, name="t.csv", **changes):
    return ImageTableOptions(folder, output=folder.parent / name, mm_per_px="0.7", **changes)


def test_rows_come_in_order_and_bad_images_are_named_and_skipped(folder, capsys):
    given = options(folder, json=True)
    assert (
        write_image_table(
            given, given.list_images(), width_of, COLUMNS, title="Widths", of_study=open_domain(None, None)
        )
        == 3
    )
    table = pd.read_csv(given.output)
    assert table["image_id"].tolist() == ["a", "c"]
    assert table["width_mm"].tolist() == pytest.approx([21.0, 21.0])
    told = capsys.readouterr()
    assert "overread: skipped b: " in told.err
    summary = json.loads(told.out)
    assert (summary["images"], summary["candidates"], list(summary["skipped"])) == (2, 2, ["b"])
    assert summary["output"] == str(given.output)


def test_work_that_refuses_an_image_skips_it_and_other_errors_stop(folder):
    given = options(folder)

    def refuse(image, radiograph):
        raise InvalidInputError("no")

    assert (
        write_image_table(
            given, given.list_images(), refuse, COLUMNS, title="", of_study=open_domain(None, None)
        )
        == 3
    )
    assert pd.read_csv(given.output).columns.tolist() == ["image_id", "candidate_id", "width_mm"]

    def fail(image, radiograph):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        write_image_table(
            given, given.list_images(), fail, COLUMNS, title="", of_study=open_domain(None, None)
        )


def test_all_good_is_said_in_one_line(folder, capsys):
    (folder / "b.png").unlink()
    given = options(folder)
    assert (
        write_image_table(
            given, given.list_images(), width_of, COLUMNS, title="Widths", of_study=open_domain(None, None)
        )
        == 0
    )
    assert capsys.readouterr().out == f"Wrote {given.output}: 2 candidates of 2 images\n"


def test_an_output_that_is_read_or_no_table_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.csv or \.parquet"):
        options(folder, "t.txt").check_output()
    given = options(folder)
    with pytest.raises(UsageError, match="is one of the files to read"):
        given.check_output([given.output])
    with pytest.raises(UsageError, match="is one of the files to read"):
        ImageTableOptions(folder, output=folder / "images.csv").check_output()


@pytest.mark.parametrize(
    ("before", "after"), [(CHEST_LAYOUT.settings, "seed = 5\n"), ("seed = 9\n", "seed = 9\n")]
)
def test_only_settings_of_the_simulation_itself_are_replaced(tmp_path, monkeypatch, before, after):
    ran = []
    monkeypatch.setattr(
        overread.study, "run_study", lambda study, **options: ran.append((study, options)), raising=False
    )

    def make():
        (tmp_path / "study.toml").write_text(before)
        return tmp_path

    run_simulated(make, "seed = 5\n", workers=2)
    assert (tmp_path / "study.toml").read_text() == after
    ((study, options),) = ran
    assert (study, options["execution"]) == (tmp_path, {"workers": 2})


def test_the_settings_of_another_kind_are_replaced_too(tmp_path, monkeypatch):
    monkeypatch.setattr(overread.study, "run_study", lambda study, **options: None, raising=False)
    (tmp_path / "study.toml").write_text(FIELD_LAYOUT.settings)
    run_simulated(lambda: tmp_path, "seed = 5\n", workers=1)
    assert (tmp_path / "study.toml").read_text() == FIELD_LAYOUT.settings
    run_simulated(lambda: tmp_path, "seed = 5\n", workers=1, replaced=FIELD_LAYOUT.settings)
    assert (tmp_path / "study.toml").read_text() == "seed = 5\n"

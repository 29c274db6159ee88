"""What the commands share: seeds, places, spacings, simulated studies, and how they print."""

from pathlib import Path

import pytest

import overread.study
from overread._commands import (
    ImageFile,
    emit,
    find_image,
    list_images,
    make_table,
    parse_spacing,
    print_plain,
    refuse_to_overwrite,
    run_simulated,
)
from overread._terminal import make_console
from overread.cli import main
from overread.errors import TableError, UsageError
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
def test_a_seed_out_of_range_is_a_mistake_in_use(refused, command, seed):
    assert f"--seed {seed}: give a whole number from 0" in refused([*command, "--seed", seed], 2)


def test_an_input_is_not_overwritten_by_any_of_its_names(tmp_path):
    image = tmp_path / "a.png"
    image.touch()
    (tmp_path / "link.png").symlink_to(image)
    refuse_to_overwrite([image], [tmp_path / "b.png"])
    for name in ("a.png", "link.png", "../" + tmp_path.name + "/a.png"):
        with pytest.raises(UsageError, match="is an input file"):
            refuse_to_overwrite([image], [tmp_path / name])


@pytest.mark.parametrize(
    ("text", "expected"), [(None, None), ("0.7", (0.7, 0.7)), ("0.143,0.168", (0.143, 0.168))]
)
def test_a_spacing_is_one_number_or_two(text, expected):
    assert parse_spacing(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1,2,3", "a,b", "0.7,"])
def test_other_spacings_are_refused(text):
    with pytest.raises(
        UsageError, match=r"--mm-per-px .*: give one positive number such as 0\.143, two such as 0\.14,0\.15"
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
    with pytest.raises(UsageError, match="this folder contains no image"):
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


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        (CHEST_LAYOUT.settings, {}, "seed = 5\n"),
        ("seed = 9\n", {}, "seed = 9\n"),
        (FIELD_LAYOUT.settings, {}, FIELD_LAYOUT.settings),
        (FIELD_LAYOUT.settings, {"replaced": FIELD_LAYOUT.settings}, "seed = 5\n"),
    ],
)
def test_only_settings_of_the_simulation_itself_are_replaced(tmp_path, monkeypatch, before, options, after):
    ran = []
    monkeypatch.setattr(
        overread.study, "run_study", lambda study, **given: ran.append((study, given)), raising=False
    )
    (tmp_path / "study.toml").write_text(before)
    run_simulated(lambda: tmp_path, "seed = 5\n", workers=2, **options)
    assert (tmp_path / "study.toml").read_text() == after
    assert ran == [(tmp_path, {"execution": {"workers": 2}})]

"""What all commands agree on."""

import warnings

import pytest

from overread._commands import check_seed, open_detector, print_plain, print_warnings, refuse_to_overwrite
from overread.cli import main
from overread.errors import DataWarning, UsageError


@pytest.mark.parametrize(
    "command",
    [("froc", "scores.csv", "truth.csv"), ("compare", "a.csv", "b.csv", "truth.csv"), ("demo",)],
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

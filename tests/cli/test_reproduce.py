import pytest


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--images", "10"], "--images 10"),
        (["--images-csv", "a.csv"], "--backgrounds"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_mistakes_are_told_before_any_work(run, tmp_path, capsys, options, told):
    assert run(["reproduce", "--output", tmp_path / "out", *options]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(run, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("mine")
    assert run(["reproduce", "--output", tmp_path, "--images", "60"]) == 4
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]

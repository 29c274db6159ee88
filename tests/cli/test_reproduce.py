import pytest


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--images", "10"], "--images 10"),
        (["--images-csv", "a.csv"], "--backgrounds"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_mistakes_are_told_before_any_work(refused, tmp_path, options, told):
    assert told in refused(["reproduce", "--output", tmp_path / "out", *options], 2)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(refused, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert "not empty" in refused(["reproduce", "--output", tmp_path, "--images", "60"], 4)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]

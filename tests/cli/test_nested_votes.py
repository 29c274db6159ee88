"""Nothing advises nested votes, which lower the AUC of the label where it can be measured."""

import pandas as pd
import pytest

from overread.cli import main

COLUMNS = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg"


@pytest.fixture
def rings(tmp_path):
    """One reader rings what another marks singly: every object of one reader touches another's mark."""
    marks = "i,A,ring,50,50,20,20,0\ni,B,one,40,50,3,2,0\ni,B,two,62,55,3,3,0\n"
    (tmp_path / "marks.csv").write_text(f"{COLUMNS}\n{marks}")
    (tmp_path / "readings.csv").write_text("image_id,reader_id\ni,A\ni,B\n")
    (tmp_path / "images.csv").write_text("image_id\ni\n")
    return tmp_path


@pytest.mark.parametrize("command", [["check", "--skip-files"], ["merge"]])
def test_nothing_advises_votes(rings, capsys, command):
    assert main([command[0], str(rings), *command[1:]]) == 0
    said = capsys.readouterr()
    assert "nested" not in said.out + said.err
    assert "touch another" not in said.out + said.err


def test_the_option_stays(rings, capsys):
    assert main(["merge", str(rings), "--nested", "votes", "--output", str(rings / "truth.csv")]) == 0
    assert "nested" not in capsys.readouterr().err
    assert pd.read_csv(rings / "truth.csv")["golden"].all()

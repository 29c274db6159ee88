"""``overread check``: all problems at once, by file and row."""

import json

from overread.cli import check as check_module

MARKS = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\n"


def write(folder, marks="i,R1,1,1,2,5,4,0\n", readings="i,R1\n", images="i,P1,train\n"):
    (folder / "marks.csv").write_text(MARKS + marks)
    (folder / "readings.csv").write_text("image_id,reader_id\n" + readings)
    (folder / "images.csv").write_text("image_id,patient_id,split\n" + images)


def test_a_good_study(run, tmp_path, capsys):
    write(tmp_path)
    assert run(["check", tmp_path, "--skip-files"]) == 0
    assert "no problems in 1 marks, 1 readings, 1 images" in capsys.readouterr().out
    assert run(["check", tmp_path]) == 0
    assert "0 errors, 1 warning" in capsys.readouterr().out


def test_all_problems_for_people_and_machines(run, tmp_path, capsys):
    write(tmp_path, marks="i,R1,1,1,2,0,4,0\ni,[red]R9,2,x,2,5,4,0\n", images="i,P1,train\nj,P1,test\n")
    assert run(["check", tmp_path, "--skip-files"]) == 4
    out = capsys.readouterr().out
    assert "5 errors, 0 warnings" in out
    assert "marks.csv" in out
    assert "[red]R9" in out
    assert run(["check", tmp_path, "--skip-files", "--json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"error": 4, "leakage": 1}
    assert told["rows"] == {"marks": 2, "readings": 1, "images": 2}
    places = [
        (problem["file"].rpartition("/")[2], problem["row"], problem["column"])
        for problem in told["problems"]
    ]
    assert places == [
        ("images.csv", 3, "split"),
        ("marks.csv", 2, "semi_major_mm"),
        ("marks.csv", 3, "x_mm"),
        ("marks.csv", 3, "reader_id"),
        ("readings.csv", None, "image_id"),
    ]


def test_leakage_alone_has_its_own_code(run, tmp_path, capsys):
    write(tmp_path, readings="i,R1\nj,R1\n", images="i,P1,train\nj,P1,test\n")
    assert run(["check", tmp_path, "--skip-files"]) == 7
    assert "patient 'P1'" in capsys.readouterr().out


def test_readings_are_asked_for(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    write(tmp_path)
    (tmp_path / "readings.csv").unlink()
    assert run(["check", tmp_path, "--skip-files"]) == 4
    assert "the readings table is missing" in capsys.readouterr().out
    assert run(["check", tmp_path, "--skip-files", "--derive-readings"]) == 0


def test_a_long_list_is_cut_for_people_only(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(check_module, "SHOWN_PER_FILE", 2)
    write(tmp_path, marks="".join(f"i,R1,{number},{number},2,0,4,0\n" for number in range(5)))
    assert run(["check", tmp_path, "--skip-files"]) == 4
    assert "3 more in this file" in capsys.readouterr().out


def test_marks_that_do_not_fit_the_reference_size_are_told(run, tmp_path, capsys):
    """A pixel taken for a millimetre: marks of 60 mm; the study's own setting is the cure."""
    marks = "".join(f"i,R1,{k},{100 * k + 50},100,30,30,0\n" for k in range(12))
    write(tmp_path, marks=marks, images="i,P1,training\n")

    def warnings():
        assert run(["check", tmp_path, "--json", "--skip-files"]) == 0
        return [p for p in json.loads(capsys.readouterr().out)["problems"] if "full_size" in p["remedy"]]

    (problem,) = warnings()
    assert "60 mm" in problem["message"]
    assert "full_size = 300 (" in problem["remedy"]
    (tmp_path / "study.toml").write_text("[merging]\nfull_size = 300.0\n")
    assert warnings() == []


def test_settings_that_run_would_refuse_are_errors(run, tmp_path, capsys):
    write(tmp_path)
    (tmp_path / "study.toml").write_text(
        'seed = "x"\n[candidates]\nfinder = "nosuch"\n[models]\nwanted = ["sof"]\n'
    )
    assert run(["check", tmp_path, "--skip-files", "--json"]) == 4
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["file"].endswith("study.toml")
    assert all(word in problem["message"] for word in ("seed = 'x'", "nosuch", "'sof'"))
    (tmp_path / "study.toml").write_text("[merging]\nfull_size_mm = 300.0\n")
    assert run(["check", tmp_path, "--skip-files"]) == 4
    assert "full_size_mm" in capsys.readouterr().out
    (tmp_path / "study.toml").write_text("[models\n")
    assert run(["check", tmp_path, "--skip-files"]) == 4
    assert "is not TOML" in capsys.readouterr().out

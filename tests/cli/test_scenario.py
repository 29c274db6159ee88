from overread.cli import main

DESIGN = """
seeds = 1
[source]
cohort = 100
test = 50
features = 4
informative = 3
[readers]
pool = 2
false_marks = 0.3
test_readings = 3
[grid]
images = [25, 50]
readings = [1, 2]
[fit]
models = ["soft", "any"]
folds = 2
n_lambdas = 3
n_bootstrap = 20
"""


def test_a_design_becomes_a_page_and_says_how_to_spend(tmp_path, capsys):
    place = tmp_path / "design.toml"
    place.write_text(DESIGN)
    assert main(["scenario", str(place), "--output", str(tmp_path / "out"), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "How to use about 50 readings?" in said
    assert (tmp_path / "out" / "scenario.html").is_file()
    assert (tmp_path / "out" / "tables" / "budgets.csv").is_file()


def test_neither_design_nor_demo_is_a_mistake_and_so_are_both(refused, tmp_path):
    place = tmp_path / "design.toml"
    place.write_text(DESIGN)
    assert main(["scenario"]) == 2
    assert "DESIGN.toml, or --demo" in refused(["scenario", str(place), "--demo"], 2)


def test_a_mistake_in_the_design_is_one_line(tmp_path, capsys):
    place = tmp_path / "design.toml"
    place.write_text("seeds = 0")
    assert main(["scenario", str(place), "--output", str(tmp_path / "out")]) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "seeds = 0" in said
    assert not (tmp_path / "out").exists()

MARK = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\n"


def study(folder, readers):
    rows = "".join(f"a,{reader},m{i},10,10,5,4,0\n" for i, reader in enumerate(readers))
    (folder / "marks.csv").write_text(MARK + rows, encoding="utf-8")
    readings = "".join(f"a,{reader}\nb,{reader}\n" for reader in readers)
    (folder / "readings.csv").write_text("image_id,reader_id\n" + readings, encoding="utf-8")
    return str(folder)


def test_a_single_reader_has_nobody_to_agree_with(answer, tmp_path):
    assert answer(["readers", study(tmp_path, ["R1"])])["pairs"] == []


def test_ids_that_look_like_markup_are_printed_as_they_are(run, tmp_path, capsys):
    assert run(["readers", study(tmp_path, ["[/bold]A", "[red]B"])]) == 0
    assert "[/bold]A" in capsys.readouterr().out

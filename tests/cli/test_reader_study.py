import pytest

from overread.cli import main
from reading_room import OpenRoom, make_study, write_detections


@pytest.fixture
def study(tmp_path):
    """Two readers, six images with and without the detector; it alone shows the lesion of three images."""
    folder = make_study(tmp_path / "study", 6)
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", 20, 30) for i in range(3)])
    room = OpenRoom(folder, detector=detector, design="sequential")
    for name in ("Anna", "Ben"):
        visitor = room.visit(name)
        for item in visitor.items():
            for shown in visitor.pass_over(item)["detections"]:
                visitor.do(item, f"decisions/{shown['id']}", decision="accept", confidence=70)
            visitor.do(item, "finish")
    room.room.store.close()
    (folder / "known").mkdir()
    lines = ["image_id,x_mm,y_mm,diameter_mm", *(f"case{i},10,15,12" for i in range(4))]
    (folder / "known/nodules.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_page_and_a_table_are_written(study, tmp_path, capsys):
    assert main(["reader-study", str(study), "--table", str(tmp_path / "readers.csv")]) == 0
    out = capsys.readouterr().out
    assert "wAFROC differs by +0.375" in out
    page = (study / "reading/reader_study.html").read_text()
    assert "3 of 4" in page
    assert "the nodules in the simulated images" in page
    assert (tmp_path / "readers.csv").read_text().count("Anna") == 2


def test_mistakes_are_told(study, tmp_path, capsys):
    assert main(["reader-study", str(tmp_path)]) == 2
    assert "has no reading room" in capsys.readouterr().err
    assert main(["reader-study", str(study), "--truth", str(tmp_path / "none.csv")]) == 4
    assert "none.csv" in capsys.readouterr().err
    assert main(["reader-study", str(study), "-o", str(study / "images.csv")]) == 2

"""Readings that the user tells."""

import pytest

from overread.errors import TableError, UsageError
from overread.marks import (
    ImageNames,
    MarkSet,
    MarkSetBuilder,
    Spacings,
    cross_readings,
    read_readings,
    replace_readings,
)

NAMES = ImageNames({"a": "a.dcm", "b": "b.dcm"})


@pytest.fixture
def found() -> MarkSet:
    builder = MarkSetBuilder("f", Spacings.of(1.0))
    for reader in ("R", "S"):
        builder.add_image("a")
        builder.add_reading("a", reader)
        builder.add_mark("a", reader, reader, centre=(5, 5), semi_axes=(1, 1))
    return builder.build()


def test_everybody_read_everything(found):
    pairs = cross_readings(found, ["a", "b"])
    assert pairs.to_numpy().tolist() == [["a", "R"], ["a", "S"], ["b", "R"], ["b", "S"]]
    assert len(cross_readings(found, ["a"], ["R", "S", "T"])) == 3
    with pytest.raises(UsageError, match="marks of 'S' too"):
        cross_readings(found, ["a"], ["R"])


def test_a_table_of_readings_with_any_names(found, tmp_path):
    path = tmp_path / "who.csv"
    path.write_text("Datei;Arzt\na.dcm;R\na;S\nb.DCM;R\na.dcm;R\n")
    readings = read_readings(path, NAMES)
    assert readings.to_numpy().tolist() == [["a", "R"], ["a", "S"], ["b", "R"]]
    assert len(replace_readings(found, readings, "who.csv").readings) == 3
    with pytest.raises(TableError, match="'S' marked image 'a'"):
        replace_readings(found, readings[readings["reader_id"] == "R"], "who.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Datei;Arzt\nc;R\n", "row 2: no image 'c'"),
        ("Datei;Arzt\na;\n", "row 2: no reader"),
        ("x;Arzt\n1;2\n", "the image"),
    ],
)
def test_mistakes_of_the_table(tmp_path, text, words):
    path = tmp_path / "who.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=words):
        read_readings(path, NAMES)

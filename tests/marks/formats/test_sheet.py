"""Rows of a spreadsheet become ellipses in mm.

What a file proves is taken; what it does not prove is asked for, never chosen.
"""

import pandas as pd
import pytest

from overread.errors import FormatError, UsageError
from overread.marks import SheetOptions, Spacings, read_marks, understand_sheet
from overread.marks.formats._sheet_columns import ROLES, WORDS, guess_columns, parse_columns

SHAPE = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
SIZES = pd.DataFrame(
    {"image_id": ["a"], "mm_per_px_x": [0.5], "mm_per_px_y": [0.5], "width_px": [200.0], "height_px": [100.0]}
)


@pytest.fixture
def read(tmp_path):
    def of(text, name="t.csv", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_marks(path, "sheet", **{"derive_readings": True, **options})

    return of


@pytest.mark.parametrize(
    ("header", "row", "options"),
    [
        ("x_min,y_min,x_max,y_max", "16,12,24,28", {"unit": "px"}),
        ("left,top,width,height", "16,12,8,16", {"unit": "px"}),
        ("x,y,width,height", "16,12,8,16", {"unit": "px", "xy": "corner"}),
        ("x,y,width,height", "20,20,8,16", {"unit": "px", "xy": "centre"}),
        ("cx,cy,rx,ry", "20,20,4,8", {"unit": "px"}),
        ("cx,cy,width,height", "0.1,0.2,0.04,0.16", {}),
        ("cx,cy,width,height", "10,20,4,16", {"unit": "percent"}),
        ("x_mm,y_mm,width_mm,height_mm", "10,10,4,8", {"xy": "centre"}),
        ("cx,cy,width,height,angle", "20,20,16,8,90", {"unit": "px", "angle": "clockwise"}),
    ],
)
def test_every_way_to_write_a_mark_gives_the_same_ellipse(read, header, row, options):
    found = read(f"image,reader,{header}\na.png,R,{row}\n", images=SIZES, **options)
    assert found.marks[SHAPE].to_numpy()[0] == pytest.approx([10, 10, 4, 2, 90])
    assert found.marks["image_id"].tolist() == ["a"]


def test_angles_turn_as_told(read):
    text = "image,reader,cx,cy,width,height,angle\na,R,20,20,16,8,30\n"
    one = read(text, mm_per_px=1, angle="clockwise").marks["angle_deg"].tolist()
    other = read(text, mm_per_px=1, angle="counterclockwise").marks["angle_deg"].tolist()
    assert one == pytest.approx([30])
    assert other == pytest.approx([150])


def test_circles_and_points(read):
    text = "image,reader,x,y,{}\na,R,20,30,{}\n"
    for name, value in (("diameter", 8), ("radius", 4)):
        shape = read(text.format(name, value), mm_per_px=0.5).marks[SHAPE].to_numpy()[0]
        assert shape == pytest.approx([10, 15, 2, 2, 0])
    point = read("image,reader,x,y\na,R,20,30\n", mm_per_px=0.5, radius_mm=3).marks[SHAPE].to_numpy()[0]
    assert point == pytest.approx([10, 15, 3, 3, 0])


def test_a_row_without_numbers_is_a_reading_and_comments_stay(read):
    text = "image,reader,x,y,radius,comment,confidence\na,R,9,9,2,unsure,0.5\na,S,,,,clear,\n"
    found = read(text, mm_per_px=1)
    assert found.marks[["reader_id", "comment", "confidence"]].to_numpy().tolist() == [["R", "unsure", 0.5]]
    assert found.readings["reader_id"].tolist() == ["R", "S"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "image,reader,x,y,radius\na,R,9,9,2\n",
            {"derive_readings": False},
            "who read which image.*--all-read-all",
        ),
        ("image,reader,x,y,radius\na,R,9,,2\n", {}, "row 2, column y: is empty"),
        ("image,reader,x,y,radius\n,R,9,9,2\n", {}, "row 2: the image is empty"),
        ("image,reader,x,y,width,height\na,R,9,9,2,2\n", {}, "--xy corner|centre"),
        ("image,reader,x,y,radius\na,R,9,9,2\n", {"reader": "Q"}, "already states readers"),
        ("image,reader,x,y,radius\na,R,9,9,-2\n", {}, "must be positive"),
        ("image,reader,x,y,radius\na,R,0.1,0.1,0.2\n", {"images": SIZES}, "not square"),
        ("image,reader,x,y,radius\nb,R,0.1,0.1,0.2\n", {}, "width_px and height_px"),
    ],
)
def test_mistakes_name_the_row_or_the_option(read, text, options, words):
    with pytest.raises(FormatError, match=words):
        read(text, **({"mm_per_px": 1} if "images" not in options else {}), **options)


@pytest.fixture
def understand(tmp_path):
    def of(text, spacings=None, has_reader=False, **options):
        path = tmp_path / "t.csv"
        path.write_text(text)
        return understand_sheet(path, SheetOptions(**options), spacings or Spacings(), has_reader=has_reader)

    return of


def asked(layout):
    return [question.option for question in layout.questions]


@pytest.mark.parametrize(
    ("header", "row", "xy"),
    [
        ("x_min,y_min,x_max,y_max", "10,20,30,40", "corner"),
        ("left,top,width,height", "10,20,30,40", "corner"),
        ("cx,cy,width,height", "10,20,30,40", "centre"),
        ("x,y,diameter", "10,20,30", "centre"),
        ("x,y,radius", "10,20,30", "centre"),
        ("cx,cy,rx,ry", "10,20,30,40", "centre"),
    ],
)
def test_names_prove_corner_or_centre(understand, header, row, xy):
    layout = understand(f"image,reader,{header}\na,R,{row}\n", unit="px")
    assert asked(layout) == []
    assert layout.options.xy == xy


def test_x_beside_a_width_proves_nothing(understand):
    text = "image,reader,x,y,width,height\na,R,10,20,30,40\n"
    assert asked(understand(text, unit="px")) == ["xy"]
    assert asked(understand(text)) == ["unit", "xy"]
    assert asked(understand(text, unit="px", xy="corner")) == []


def test_units_are_taken_only_where_they_are_certain(understand):
    text = "image,reader,x{u},y{u},diameter{u}\na,R,{v},{v},{d}\n"
    assert understand(text.format(u="_mm", v=10, d=3)).options.unit == "mm"
    assert understand(text.format(u="", v=0.5, d=0.1)).options.unit == "fraction"
    assert understand(text.format(u="", v=10, d=3), Spacings.of(0.5)).options.unit == "px"
    assert asked(understand(text.format(u="", v=10, d=3))) == ["unit"]
    table = pd.DataFrame(
        {
            "image_id": ["a"],
            "mm_per_px_x": [0.2],
            "mm_per_px_y": [0.2],
            "width_px": [100.0],
            "height_px": [100.0],
        }
    )
    # The image is 20 mm wide: 30 must be pixels, 10 may be either.
    assert understand(text.format(u="", v=30, d=3), Spacings.of(None, table)).options.unit == "px"
    assert asked(understand(text.format(u="", v=10, d=3), Spacings.of(None, table))) == ["unit"]


def test_commas_are_decimals_only_where_they_can_be_nothing_else(understand):
    text = "image;reader;x;y;diameter\na;R;{};7;3\n"
    assert understand(text.format("12,5"), unit="px").options.decimal == "comma"
    assert understand(text.format("12.5"), unit="px").options.decimal == "point"
    assert asked(understand(text.format("1,234"), unit="px")) == ["decimal"]
    assert understand(text.format("1,234"), unit="px", decimal="comma").numbers["x"] == [1.234]
    assert understand(text.format("1,234"), unit="px", decimal="point").numbers["x"] == [1234.0]
    with pytest.raises(FormatError, match=r"'12,5' and '7.5'"):
        understand("image;reader;x;y;diameter\na;R;12,5;7.5;3\n", unit="px")


def test_an_angle_that_turns_something_is_asked_for(understand):
    text = "image,reader,cx,cy,width,height,angle\na,R,1,2,3,4,{}\n"
    assert asked(understand(text.format(30), unit="px")) == ["angle"]
    assert asked(understand(text.format(0), unit="px")) == []
    with pytest.raises(FormatError, match="radians"):
        understand(text.replace("angle", "angle_rad").format(1), unit="px")


def test_the_image_column_is_the_one_whose_cells_are_images(understand):
    table = pd.DataFrame({"image_id": ["CXR_1"], "mm_per_px_x": [1.0], "mm_per_px_y": [1.0]})
    text = "case,file,reader,x,y,radius\n7,CXR_1.dcm,R,10,10,2\n"
    assert understand(text, unit="px").doubts
    layout = understand(text, Spacings.of(None, table), unit="px")
    assert layout.columns["image"] == "file"
    assert layout.doubts == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("foo,reader,x,y,radius\na,R,1,1,1\n", "--columns image="),
        ("image,foo,x,y,radius\na,R,1,1,1\n", "--columns reader=.*--reader NAME="),
        ("image,reader,foo,y,radius\na,R,1,1,1\n", "no clear position"),
        ("image,reader,x,y\na,R,1,1\n", "--radius-mm"),
        ("image,reader,x,y,radius\na,R,wide,1,1\n", "row 2, column x: 'wide' is not a number"),
        ("image,reader,x_mm,y_px,radius_mm\na,R,9,1,1\n", "do not all state the same unit"),
    ],
)
def test_what_is_missing_is_said_with_the_option(understand, text, words):
    with pytest.raises(FormatError, match=words):
        understand(text)
    with pytest.raises(UsageError, match="--xy middle: give one of corner, centre"):
        understand(text, xy="middle")


WANTED = ("image", "reader", "x", "y", "width", "height", "label", "comment")


@pytest.mark.parametrize(
    "header",
    [
        ("file", "reader", "x", "y", "width", "height", "label", "comment"),
        ("Dateiname", "Befunder", "X [px]", "Y [px]", "Breite", "Höhe", "Befund", "Bemerkung"),
        ("Fichier", "Lecteur", "x", "y", "Largeur", "Hauteur", "Étiquette", "Commentaire"),
        ("Archivo", "Médico", "x", "y", "Ancho", "Alto", "Hallazgo", "Observaciones"),
        ("Immagine", "Lettore", "x", "y", "Larghezza", "Altezza", "Reperto", "Commento"),
        ("Imagem", "Leitor", "x", "y", "Largura", "Altura", "Achado", "Comentário"),
        ("Bestandsnaam", "Lezer", "x", "y", "Breedte", "Hoogte", "Bevinding", "Opmerking"),
    ],
)
def test_seven_languages(header):
    guess = guess_columns(header)
    assert guess.columns == dict(zip(WANTED, header, strict=True))
    assert guess.doubts == ()


def test_units_stand_behind_names():
    guess = guess_columns(["x_mm", "y (mm)", "Durchmesser [mm]", "Winkel (rad)"])
    assert guess.units == {"x": "mm", "y": "mm", "diameter": "mm", "angle": "rad"}


def test_two_columns_for_one_thing_are_a_doubt_unless_told():
    header = ["file", "image", "reader"]
    assert "'file' or 'image'" in guess_columns(header).doubts[0]
    told = guess_columns(header, {"image": "image"})
    assert told.columns["image"] == "image"
    assert told.doubts == ()


def test_no_word_stands_for_two_things():
    words = [word for text in WORDS.values() for word in text.split()]
    assert len(words) == len(set(words))
    assert all(words)


def test_columns_are_told_by_role():
    assert parse_columns("image=datei, x=Spalte 3", ["Datei", "Spalte 3"], "t.csv") == {
        "image": "Datei",
        "x": "Spalte 3",
    }
    with pytest.raises(UsageError, match="roles are image, reader"):
        parse_columns("picture=Datei", ["Datei"], "t.csv")
    with pytest.raises(UsageError, match=r"t.csv has no such column; its columns are Datei"):
        parse_columns("image=Bild", ["Datei"], "t.csv")
    assert "x_min" in ROLES

"""Columns are known by obvious names in seven languages; what is not obvious is a doubt or is told."""

import pytest

from overread.errors import UsageError
from overread.marks.formats._sheet_columns import ROLES, WORDS, guess_columns, parse_columns

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
    with pytest.raises(UsageError, match=r"t.csv has no such column; it has Datei"):
        parse_columns("image=Bild", ["Datei"], "t.csv")
    assert "x_min" in ROLES

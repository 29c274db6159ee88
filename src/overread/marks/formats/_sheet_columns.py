"""Meaning of a spreadsheet's columns by name: words of seven languages, and the unit after the name.

Only obvious names are recognized. Two columns with the same meaning are reported as ambiguous.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from overread.errors import UsageError

# English, German, French, Spanish, Italian, Portuguese, Dutch; without accents, words joined by _.
WORDS: dict[str, str] = {
    "image": "image image_id imageid image_name imagename img image_file image_path file filename file_name path "
    "picture case case_id scan radiograph bild bildname bild_id bilddatei datei dateiname aufnahme fichier "
    "nom_fichier nom_du_fichier nom_de_fichier cliche radiographie imagen archivo fichero nombre_archivo "
    "nombre_de_archivo radiografia immagine nome_file nome_del_file imagem arquivo ficheiro nome_arquivo "
    "nome_do_arquivo beeld afbeelding bestand bestandsnaam",
    "reader": "reader reader_id reader_name rater rater_id radiologist radiologist_id annotator annotator_id observer "
    "rad_id doctor physician expert leser befunder auswerter arzt radiologe lecteur radiologue observateur medecin "
    "lector radiologo observador medico lettore osservatore leitor radiologista lezer radioloog beoordelaar arts",
    "x": "x x_pos xpos pos_x x_position position_x x_coord coord_x x_coordinate x_koordinate koordinate_x "
    "coordonnee_x x_coordonnee coordenada_x coordinata_x x_coordinaat coordinaat_x",
    "y": "y y_pos ypos pos_y y_position position_y y_coord coord_y y_coordinate y_koordinate koordinate_y "
    "coordonnee_y y_coordonnee coordenada_y coordinata_y y_coordinaat coordinaat_y",
    "x_centre": "cx xc x_c x_center center_x x_centre centre_x centroid_x x_centroid x_mitte mitte_x x_zentrum "
    "zentrum_x x_centro centro_x x_midden midden_x mittelpunkt_x x_mittelpunkt",
    "y_centre": "cy yc y_c y_center center_y y_centre centre_y centroid_y y_centroid y_mitte mitte_y y_zentrum "
    "zentrum_y y_centro centro_y y_midden midden_y mittelpunkt_y y_mittelpunkt",
    "x_min": "x_min xmin min_x x1 x0 left x_left xtl links gauche izquierda sinistra esquerda",
    "y_min": "y_min ymin min_y y1 y0 top y_top ytl oben haut arriba sopra cima boven",
    "x_max": "x_max xmax max_x x2 right x_right xbr rechts droite derecha destra direita",
    "y_max": "y_max ymax max_y y2 bottom y_bottom ybr unten bas abajo basso sotto baixo onder",
    "width": "width w box_width bbox_width breite largeur ancho anchura larghezza largura breedte",
    "height": "height h box_height bbox_height hoehe hohe hauteur alto altura altezza hoogte",
    "diameter": "diameter diam durchmesser diametre diametro doorsnede",
    "radius": "radius r rayon radio raggio raio straal",
    "radius_x": "rx radius_x semi_major semi_axis_x",
    "radius_y": "ry radius_y semi_minor semi_axis_y",
    "angle": "angle rotation orientation theta winkel drehwinkel drehung rotacion angulo angolo rotazione rotacao "
    "hoek rotatie",
    "label": "label class class_name category finding lesion_type klasse befund kategorie etiquette classe categorie "
    "etiqueta clase categoria hallazgo etichetta reperto rotulo achado bevinding klasse_name",
    "comment": "comment comments remark remarks note notes kommentar bemerkung bemerkungen anmerkung notiz commentaire "
    "remarque comentario comentarios observaciones commento nota note_libere observacoes opmerking opmerkingen notitie",
    "confidence": "confidence certainty konfidenz sicherheit confiance certitude confianza certeza confidenza "
    "confianca zekerheid",
    "mark": "mark_id annotation_id",
    "image_width": "image_width img_width width_px_image bildbreite largeur_image ancho_imagen larghezza_immagine "
    "largura_imagem beeldbreedte",
    "image_height": "image_height img_height height_px_image bildhoehe bildhohe hauteur_image alto_imagen "
    "altezza_immagine altura_imagem beeldhoogte",
}
ROLES = tuple(WORDS)
ROLE_OF = {word: role for role, words in WORDS.items() for word in words.split()}
UNIT_WORDS = {
    "mm": "mm",
    "px": "px pixel pixels pix",
    "percent": "percent pct",
    "fraction": "fraction",
    "deg": "deg degrees grad",
    "rad": "rad radians",
}
UNITS = {word: unit for unit, words in UNIT_WORDS.items() for word in words.split()}


@dataclass(frozen=True)
class GuessedColumns:
    """Column of each role, its unit if named, and descriptions of ambiguous columns."""

    columns: dict[str, str]
    units: dict[str, str]
    doubts: tuple[str, ...] = ()


def guess_columns(header: Sequence[str], given: dict[str, str] | None = None) -> GuessedColumns:
    """Guess the meaning of the columns that are not given."""
    columns = dict(given or {})
    doubts = []
    free = [name for name in header if name not in columns.values()]
    for name in free:
        role = ROLE_OF.get(_split_unit(name)[0])
        if role is None or role in (given or {}):
            continue
        if role in columns:
            doubts.append(f"{role} may be {columns[role]!r} or {name!r} (give --columns {role}=...)")
        else:
            columns[role] = name
    units = {role: unit for role, name in columns.items() if (unit := _split_unit(name)[1])}
    units = {role: unit for role, unit in units.items() if role == "angle" or unit not in ("deg", "rad")}
    return GuessedColumns(columns, units, tuple(doubts))


def _split_unit(name: str) -> tuple[str, str]:
    """Word of a column's name, and the unit after it: ``"Breite (px)"`` gives ``("breite", "px")``."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    parts = [part for part in re.split(r"[^a-z0-9%]+", plain.replace("%", " percent ")) if part]
    if len(parts) > 1 and parts[-1] in UNITS:
        return "_".join(parts[:-1]), UNITS[parts[-1]]
    return "_".join(parts), ""


def parse_columns(text: str, header: Sequence[str], place: str) -> dict[str, str]:
    """Columns by role of ``image=Datei,reader=Arzt,x=X``."""
    given: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        role, name = role.strip(), name.strip()
        if not equals or role not in ROLES:
            raise UsageError(f"--columns {part!r}: write ROLE=COLUMN; roles are {', '.join(ROLES)}")
        found = next((column for column in header if column.casefold() == name.casefold()), None)
        if found is None:
            raise UsageError(
                f"--columns {role}={name}: {place} has no such column; its columns are {', '.join(header)}"
            )
        given[role] = found
    return given

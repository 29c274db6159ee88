"""Compare names that people typed: two spellings of one name, or names that look alike."""

import re
import unicodedata

WHOLE_NUMBER = re.compile(r"0*([0-9]+?)(\.0*)?")
# Letters of Cyrillic and Greek that common typefaces draw as the Latin letter below them.
LOOK_ALIKE = str.maketrans(
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEKMHOPCTYXIJSaeopcyxijs" + "ABEZHIKMNOPTYXo"
)


def visible_text(name: str) -> str:
    """Name with composed accents (NFC) and without invisible characters (Unicode's category Cf)."""
    if name.isascii():
        return name
    shown = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFC", shown)


def same_name(name: str) -> str:
    """Key that names share if they differ only in coding: also 1, 1.0 and 01, and wide letters."""
    text = unicodedata.normalize("NFKC", visible_text(name)).strip()
    number = WHOLE_NUMBER.fullmatch(text)
    return number[1] if number else text


def likeness_of(name: str) -> str:
    """Key that names share if they differ only in capitals, spaces or similar letters of another script."""
    return "".join(same_name(name).translate(LOOK_ALIKE).casefold().split())

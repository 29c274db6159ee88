"""The documentation site, as ``make docs`` built it: nothing public is missing, nothing is loaded from elsewhere."""

import re
import zlib
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

from overread._sections import Section
from overread.apps.scenario._design import Design
from overread.cli import app
from overread.study import Settings
from overread.tables import SCHEMAS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)]
# Without the lists of pages.
MEASURED = sorted(
    page for page in (DOCS / "results").glob("*.md") if page.stem not in ("index", "benchmarks")
)
IMPORT = re.compile(r"^(?:>>> |    )?from (overread[\w.]*) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
# What a browser fetches by itself when it shows a page; a link is only followed when somebody clicks on it.
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
# Made by sphinx itself, and reached from every page.
MADE_BY_SPHINX = {"genindex.html", "py-modindex.html", "search.html"}

PUBLIC_MODULES = ("overread", "overread.plugins", "overread.errors")

built = pytest.mark.skipif(not (SITE / "objects.inv").is_file(), reason="make docs builds the site")


@cache
def inventory() -> dict[str, set[str]]:
    """Names that the site describes, by their kind, such as ``py:function``."""
    packed = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    found: dict[str, set[str]] = {}
    for line in zlib.decompress(packed).decode().splitlines():
        name, kind = re.fullmatch(r"(.+?) (\w+:\S+) -?\d+ \S+ .*", line).groups()
        found.setdefault(kind, set()).add(name)
    return found


def python_names() -> set[str]:
    return set().union(*(names for kind, names in inventory().items() if kind.startswith("py:")))


@cache
def packages() -> dict[str, tuple[str, ...]]:
    return {name: tuple(import_module(name).__all__) for name in PUBLIC_MODULES}


def is_described(module: str, name: str) -> bool:
    """Say whether the site has a name, perhaps as that of another package that exports the same object."""
    given = getattr(import_module(module), name)
    same = [
        one
        for one, names in packages().items()
        if name in names and getattr(import_module(one), name) is given
    ]
    return bool({f"{one}.{name}" for one in [module, *same]} & python_names())


class Loads(HTMLParser):
    """Addresses that a page loads, and those that its navigation leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.listed: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if LOADS.get(tag) in given:
            self.loaded.append(given[LOADS[tag]] or "")
        if (
            tag == "a"
            and "reference internal" in (given.get("class") or "")
            and "#" not in (given.get("href") or "#")
        ):
            self.listed.append(given["href"] or "")


def html_pages() -> list[Path]:
    return sorted(SITE.rglob("*.html"))


@built
def test_every_public_name_is_described():
    exported = [(package, name) for package, names in packages().items() for name in names]
    missing = [f"{package}.{name}" for package, name in exported if not is_described(package, name)]
    assert len(exported) > 130
    assert missing == []


@built
def test_every_name_that_a_page_imports_is_described():
    """Pages that change the package itself import what is private to it."""
    inside = {"add_a_command.md", "add_a_label_rule.md", "add_a_report_section.md"}
    used = set()
    for page in PAGES:
        if page.name in inside:
            continue
        for module, several, one in IMPORT.findall(page.read_text(encoding="utf-8")):
            words = re.sub(r"#.*", "", several or one)
            used |= {(module, name) for name in re.findall(r"(\w+)(?: as \w+)?", words)}
    described = [(module, name) for module, name in sorted(used) if f"{module}.{name}" not in python_names()]
    assert len(used) > 60
    assert [f"{module}.{name}" for module, name in described if not is_described(module, name)] == []


@built
def test_every_command_has_a_page_with_its_options():
    for name in app:
        if not name.startswith("-"):
            page = SITE / "reference" / "commands" / f"{name}.html"
            assert page.is_file(), f"docs/reference/commands/{name}.md is missing; write it as the others are"
    options = inventory()["std:cmdoption"]
    assert {"overread-froc.--lock", "overread-features-extract.--threads", "overread-run.STUDY"} <= options
    assert len(options) > 200


def keys(model: type[Section], prefix: str = "") -> set[str]:
    named = set()
    for name, field in model.model_fields.items():
        inside = getattr(field.annotation, "model_fields", None)
        named |= {f"{prefix}[{name}] {key}" for key in inside} if inside else {f"{prefix}{name}"}
    return named


@built
@pytest.mark.parametrize(("model", "prefix"), [(Settings, ""), (Design, "design ")])
def test_every_setting_is_described(model, prefix):
    assert len(keys(model)) > 25
    assert keys(model, prefix) - inventory()["std:confval"] == set()


@built
def test_every_column_of_every_table_is_described():
    text = (SITE / "reference" / "tables.html").read_text(encoding="utf-8")
    for kind, schema in SCHEMAS.items():
        (section,) = re.findall(rf'<section id="{kind}">(.*?)</section>', text, flags=re.DOTALL)
        cells = re.findall(r'<span class="pre">(\w+)</span>', section)
        for unit in ("mm", "px", "percent"):
            columns = schema.of_header([f"x_{unit}"], kind).columns
            assert {column.name for column in columns} <= set(cells)


@built
def test_the_site_loads_nothing_from_elsewhere():
    foreign = []
    for page in html_pages():
        loaded = Loads(page.read_text(encoding="utf-8")).loaded
        foreign += [f"{page.name}: {address}" for address in loaded if re.match(r"(https?:)?//", address)]
    for sheet in SITE.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)", text)
        foreign += [f"{sheet.name}: {address}" for address in found]
    assert len(html_pages()) > 100
    assert foreign == []


@built
def test_every_page_is_in_the_contents_once():
    navigation = (
        (SITE / "index.html")
        .read_text(encoding="utf-8")
        .split('class="sidebar-tree"')[1]
        .split("</aside>")[0]
    )
    listed = Loads(navigation).listed
    pages = {page.relative_to(SITE).as_posix() for page in html_pages()} - MADE_BY_SPHINX - {"index.html"}
    assert sorted(listed) == sorted(pages)


@built
def test_formulas_are_drawn():
    text = (SITE / "explanation" / "model.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50
    assert "$" not in re.sub(r"<(code|pre|script)\b.*?</\1>", "", text, flags=re.DOTALL).split("<article")[1]


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.name)
def test_results_say_when_and_by_which_command(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", text)
    assert re.search(r"(python -m |python |overread |make )[\w./-]+", text)


def test_every_figure_is_shown_by_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    figures = [path.relative_to(DOCS).as_posix() for path in sorted((DOCS / "figures").rglob("*.*"))]
    assert [figure for figure in figures if figure not in text] == []


def test_an_unknown_command_of_a_formula_is_an_error(monkeypatch):
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    formula_to_mathml = import_module("mathml").formula_to_mathml

    assert "<mfrac>" in formula_to_mathml(r"\frac{1}{2}", block=False)
    with pytest.raises(ValueError, match="nosuchcommand"):
        formula_to_mathml(r"\nosuchcommand{x}", block=True)


def test_links_out_of_the_docs_lead_to_pages_of_the_site(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    root_files = import_module("root_files")

    text = "[S](../../SECURITY.md), [m](model.md#a), [w](https://example.org), [make](../../Makefile)"
    mended = "[S](../project/security.md), [m](model.md#a), [w](https://example.org), make"
    assert root_files.mend_links(text, "explanation/learned") == mended
    assert all((ROOT / path).is_file() and (DOCS / page).is_file() for path, page in root_files.PAGES.items())

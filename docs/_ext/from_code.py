"""Pages that are made from the code: a block ``from-code`` of a page is replaced by what the code says today.

::

    ```{from-code} command froc
    ```

The first word names one of `MAKERS`, the rest is its argument. What a maker gives is Markdown, and is read as if it
stood in the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from api_pages import api_page, public_table
from catalogue_page import catalogue_page, generic_catalogue
from command_pages import command_page, commands_table
from gallery import list_gallery
from pygments.lexers.special import TextLexer
from root_files import file_page, mend_links, more_pages
from setting_pages import design_page, settings_page
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from table_pages import results_page, tables_page

__all__ = ["MAKERS", "fill_in", "setup"]

BLOCK = re.compile(r"^```\{from-code\} (\w+)(?: (\S+))?\n```$", re.MULTILINE)

ARRAY = re.compile(r"ndarray\[(?:tuple\[Any, \.\.\.\]|_AnyShape), dtype\[(?:\w+\.)*(\w+)\]\]")

MAKERS: dict[str, Callable[..., str]] = {
    "api": api_page,
    "catalogue": catalogue_page,
    "command": command_page,
    "commands": commands_table,
    "design": design_page,
    "file": file_page,
    "gallery": list_gallery,
    "generic": generic_catalogue,
    "more": more_pages,
    "public": public_table,
    "results": results_page,
    "settings": settings_page,
    "tables": tables_page,
}


def fill_in(text: str) -> str:
    """Replace every block of a page."""

    def make(found: re.Match[str]) -> str:
        maker, argument = found.groups()
        if maker not in MAKERS:
            raise ExtensionError(f"from-code {maker}: there is {', '.join(MAKERS)}")
        return MAKERS[maker](*([argument] if argument else []))

    return BLOCK.sub(make, text)


def read_page(_app: Sphinx, page: str, source: list[str]) -> None:
    """Take a page as sphinx has read it."""
    source[0] = mend_links(fill_in(source[0]), page)


def is_foreign(_app: Sphinx, _kind: str, _name: str, member: object, *_: object) -> bool | None:
    """Leave out methods that scikit-learn or pydantic put into our classes."""
    home = getattr(member, "__module__", None) or "overread"
    return True if not home.startswith("overread") and callable(member) else None


def shorten_types(
    _app: Sphinx,
    _kind: str,
    _name: str,
    _object: object,
    _options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Write arrays of numbers as ``ndarray[float64]``; all else that numpy says of them is not ours."""

    def shorten(text: str | None) -> str | None:
        return text and ARRAY.sub(r"ndarray[\1]", text)

    return shorten(signature), shorten(returned)


def setup(app: Sphinx) -> dict[str, bool]:
    """Be called for every page that sphinx reads."""
    # Pygments knows no tables of text.
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-signature", shorten_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

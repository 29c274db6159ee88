"""Whatever is printed, a terminal only shows it."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from overread._terminal import make_console, print_json, print_line, print_text

HOSTILE = "\x1b]0;title\x07\x1b[2J a\x9b31m\u202eb\r\x08\u2066c\x00\ud800\x7f"
# What rich itself writes to set a colour.
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def unprintable(text: str) -> set[str]:
    return {one for one in text if not one.isprintable() and one != "\n"}


def shown(*things, **options) -> str:
    file = io.StringIO()
    console = make_console(file=file, **options)
    for thing in things:
        console.print(thing)
    return file.getvalue()


def make_table(text: str) -> Table:
    table = Table(escape(text), "other", title=escape(text))
    table.add_row(Text(text), f"[red]{escape(text)}[/red]")
    return table


@given(st.text(st.characters(codec=None, exclude_characters="[")))
def test_a_console_shows_any_text_in_any_place(text):
    told = shown(escape(text), Text(text, style="bold"), make_table(text), force_terminal=True, width=200)
    assert unprintable(COLOUR.sub("", told)) == set()


def test_colours_stay_and_characters_are_told():
    told = shown(Text("a\x1b[31mb", style="red"), force_terminal=True, color_system="standard")
    assert told == "\x1b[31ma\\x1b[31mb\x1b[0m\n"
    assert "\\x1b]0;title" in shown(make_table(HOSTILE), width=300)
    assert ":smile:" in shown(":smile:")


@pytest.mark.parametrize("stderr", [False, True])
def test_lines_and_texts(capsys, stderr):
    print_line(f"one {HOSTILE}\nfeigned", stderr=stderr)
    print_text("two\nthree\x1b", stderr=stderr)
    told = capsys.readouterr()
    assert (told.out if stderr else told.err) == ""
    lines = (told.err if stderr else told.out).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("\\nfeigned")
    assert unprintable("".join(lines)) == set()


@given(st.text(st.characters(codec=None)))
def test_json_is_the_same_value(text):
    file = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        print_json(json.dumps({text: [text]}, ensure_ascii=False, indent=1))
    assert unprintable(file.getvalue()) == set()
    # A pair of halves is one character in JSON.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(file.getvalue()) == {whole: [whole]}

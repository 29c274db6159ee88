"""Numbers in words."""

import math
import subprocess
from pathlib import Path
from shutil import which

import pytest
from markdown_it import MarkdownIt

from overread._text import (
    difference_with_limits,
    duration,
    escape_markdown,
    join_lines,
    markdown_table,
    percent,
    percent_with_limits,
    printable,
    shell_word,
)

NAN = math.nan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(0.4423), "44.2"),
        (percent(0.4423, 0, unit=" %"), "44 %"),
        (percent(1.0, 2), "100.00"),
        (percent(NAN), "-"),
        (percent(NAN, unit=" %", undefined="–"), "–"),
        (percent_with_limits(0.4423, 0.3514, 0.5376), "44.2 (35.1-53.8)"),
        (percent_with_limits(0.5, NAN, NAN, 0), "50 (no interval)"),
        (percent_with_limits(NAN, NAN, NAN), "-"),
        (difference_with_limits(0.12, -0.01, 0.25), "+0.120 (-0.010 to +0.250)"),
        (difference_with_limits(-0.12, -0.2, -0.04, scale=100, digits=1), "-12.0 (-20.0 to -4.0)"),
        (difference_with_limits(0.0, NAN, NAN), "+0.000 (no interval)"),
        (difference_with_limits(NAN, NAN, NAN), "-"),
        (join_lines("a\nb\tc\x1b"), "a b c "),
    ],
)
def test_words(text, expected):
    assert text == expected


def cells(text):
    """Cells of the first table of a Markdown text, as another library reads them."""
    tokens = MarkdownIt().enable("table").parse(text)
    return [token.content for token in tokens if token.type == "inline"], tokens


def test_a_table_is_read_back_by_a_markdown_reader():
    text = markdown_table(["model", "GT"], [["a|b *c* <i>", "44.2"], ["line\nbreak", "-"]])
    contents, tokens = cells(text)
    plain = ["".join(part.content for part in token.children) for token in tokens if token.type == "inline"]
    assert plain == ["model", "GT", "a|b *c* <i>", "44.2", "line break", "-"]
    assert text.splitlines()[1] == "|---|---:|"
    assert len(contents) == 6


def test_cells_may_be_markdown_already():
    words = markdown_table(["what", "value", "per cent"], [["a", "b", "1"], ["c", "2", "-"]])
    assert words.splitlines()[1] == "|---|---|---:|"
    assert markdown_table(["a"], [["**b**"]], markup=True).splitlines()[-1] == "| **b** |"
    assert escape_markdown("**b**") == r"\*\*b\*\*"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (80, "1 min 20 s"), (599, "9 min 59 s"),
        (640, "11 min"), (3569, "59 min"), (3571, "1 h"), (7500, "2 h 5 min"),
    ],
)  # fmt: skip
def test_durations(seconds, told):
    assert duration(seconds) == told


def test_control_characters_are_shown_and_not_obeyed():
    hostile = "\x1b[31m\x07 a\u202eb\r\u200f c\x9b\ud800"
    assert printable(hostile) == "\\x1b[31m\\x07 a\\u202eb\\r\\u200f c\\x9b\\ud800"
    assert printable("Müller 日本\nline two") == "Müller 日本\nline two"


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize(
    "name",
    ["plain", "two words", "it's", "$(touch x)", "`id`", "a;b|c&d", "-x", "", "\\'", "é 日本", "~", "*"],
)
def test_a_word_comes_out_of_a_shell_as_it_was(name, shell):
    assert run_shell(shell, f"printf %s {shell_word(name)}") == name.encode()


@pytest.mark.parametrize(
    "name", ["a\x1b[2Jb", "two\nlines", "\x9b'\\x", "a\u202eb c", "\udcff\udc80z", "\U000e0001"]
)
def test_control_characters_are_spelled_for_a_shell(name):
    word = shell_word(Path(name))
    assert word.isprintable()
    assert run_shell("bash", f"printf %s {word}") == name.encode("utf-8", "surrogateescape")


def run_shell(shell: str, command: str) -> bytes:
    found = which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    environment = {"LC_ALL": "C.UTF-8"}
    return subprocess.run([found, "-c", command], capture_output=True, check=True, env=environment).stdout

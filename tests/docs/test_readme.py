"""The README's Python prints what the README shows."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_prints_what_it_shows():
    code, shown = re.findall(
        r"^```(?:python|text)\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == shown

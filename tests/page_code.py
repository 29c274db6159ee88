"""Blocks of Python of a page of the documentation, run one after the other."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(page: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the blocks of a page with some names, and return all names; an error has the line of the page."""
    names = {"__name__": "page"} if names is None else names
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(path), "exec", dont_inherit=True), names)
    return names

"""Pages of docs/examples: each script is run, and its text, code, output and figure become a page of Markdown.

python docs/gallery.py FOLDER    writes FOLDER/NAME.md and FOLDER/NAME.png for each script, and FOLDER/index.md
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parent / "examples"
CELL = re.compile(r"^# %%.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """Some sentences, and the code below them."""

    text: str
    code: str


@dataclass(frozen=True)
class Example:
    """A script: its title, what it is about, and its cells."""

    name: str
    title: str
    about: str
    cells: tuple[Cell, ...]


def list_examples() -> list[Example]:
    """Read all scripts, by name."""
    return [read_example(path) for path in sorted(EXAMPLES.glob("*.py"))]


def read_example(path: Path) -> Example:
    """Read a script whose docstring is a title, a line below it, and sentences, and whose cells begin with ``# %%``."""
    source = path.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    _, *cells = CELL.split(source)
    return Example(path.stem, title, about.lstrip("=\n").strip(), tuple(map(read_cell, cells)))


def read_cell(source: str) -> Cell:
    """Part a cell into the comment that it begins with and its code."""
    lines = source.splitlines()
    n_text = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    text = " ".join(line.removeprefix("#").strip() for line in lines[:n_text])
    return Cell(text.replace("``", "`"), "\n".join(lines[n_text:]).strip())


def run_example(example: Example, folder: Path) -> list[str]:
    """Run the cells in order, with figures going to a folder; return what each prints."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed = []
    with chdir(folder):
        for cell in example.cells:
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(cell.code, f"{example.name}.py", "exec"), names)
            printed.append(output.getvalue().rstrip())
    return printed


def write_page(example: Example, printed: list[str]) -> str:
    """Lay out a page; its figure stands below its first sentences."""
    parts = [f"# {example.title}", example.about, f"![{example.title}]({example.name}.png)"]
    for cell, output in zip(example.cells, printed, strict=True):
        parts += [cell.text, f"```python\n{cell.code}\n```"]
        parts += [f"```text\n{output}\n```"] if output else []
    return "\n\n".join(parts) + "\n"


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop or question mark."""
    return re.split(r"(?<=[.?]) ", " ".join(text.split()))[0]


def write_gallery(folder: Path) -> Iterator[Path]:
    """Run every example and write its page and figure, and the index; return the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Examples",
        "Each runs in under a minute by `python docs/examples/NAME.py`, which writes its figure.",
    ]
    for example in list_examples():
        page = folder / f"{example.name}.md"
        page.write_text(write_page(example, run_example(example, folder)), encoding="utf-8")
        lines.append(f"- [{example.title}]({page.name}): {first_sentence(example.about)}")
        yield page
    index = folder / "index.md"
    index.write_text("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]) + "\n", encoding="utf-8")
    yield index


if __name__ == "__main__":
    # Figures have no window.
    os.environ["MPLBACKEND"] = "agg"
    for written in write_gallery(Path(sys.argv[1])):
        print(written)

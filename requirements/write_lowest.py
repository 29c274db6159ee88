"""Write lowest.in and lowest.txt: every dependency at the lowest version that pyproject.toml allows.

Run by hand after a bound or a tool of the tests has changed, with uv on the path: python requirements/write_lowest.py.
The other files here are made by the same command out of the .in file of their name.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILE = ["uv", "pip", "compile", "--quiet", "--no-header", "--generate-hashes", "--python-version", "3.11"]
HEAD = "# Made by write_lowest.py: the lowest version of every dependency, with which make test-lowest runs the tests."


def lowest_pins(project: dict[str, object]) -> list[str]:
    """Dependencies of the package and of its extras, pinned at their lower bounds."""
    wanted = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    bounds = (re.match(r"([\w-]+)>=([\w.]+)", requirement) for requirement in wanted)
    return sorted(f"{bound[1]}=={bound[2]}" for bound in bounds if bound)


def main() -> None:
    """Write both files."""
    told = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    tools = sorted({*told["dependency-groups"]["test"], *told["dependency-groups"]["build"], "editables"})
    lines = [HEAD, *lowest_pins(told["project"]), "# Tools of the tests, of any version.", *tools]
    (HERE / "lowest.in").write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([*COMPILE, "lowest.in", "--output-file", "lowest.txt"], cwd=HERE, check=True)


if __name__ == "__main__":
    main()

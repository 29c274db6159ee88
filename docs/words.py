"""Fail where a phrase of the style page's list comes back: ``python docs/words.py``, from the repository's root."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

STYLE = Path("docs/project/style.md")
SEARCHED = ("src", "docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
ENDINGS = {".py", ".pyi", ".md", ".j2", ".js", ".html", ".toml"}


def list_phrases() -> list[str]:
    """Read the first column of the style page's last table."""
    table = STYLE.read_text(encoding="utf-8").rpartition("## ")[2]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
    return rows[2:]


def main() -> int:
    """Print every occurrence with file and line; 1 if there is any."""
    phrases = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in list_phrases()), re.IGNORECASE)
    listed = subprocess.run(["git", "ls-files", *SEARCHED], capture_output=True, text=True, check=True).stdout
    found = 0
    for file in map(Path, listed.splitlines()):
        if file == STYLE or file.suffix not in ENDINGS or not file.exists():
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for phrase in phrases.findall(line):
                found += 1
                print(f"{file}:{number}: {phrase!r} (see {STYLE})")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())

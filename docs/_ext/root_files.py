"""Pages of the site that stand outside of docs/, and pages that no list of contents names."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["PAGES", "file_page", "mend_links", "more_pages"]

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent

# Files of the repository that are pages of the site too, and where; links to them lead there.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "RELEASING.md": "project/releasing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/results/README.md": "results/benchmarks.md",
}
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def file_page(path: str) -> str:
    """Text of a file of the repository below its title, with links as they are from its page of the site."""
    text = (ROOT / path).read_text(encoding="utf-8").partition("\n")[2].lstrip("\n")
    here = (DOCS / PAGES[path]).parent

    def lead(found: re.Match[str]) -> str:
        words, target, anchor = found.groups()
        full = (ROOT / path).parent / target
        return f"[{words}]({os.path.relpath(full, here)}{anchor or ''})"

    return LINK.sub(lead, text)


def mend_links(text: str, page: str) -> str:
    """Lead links to files outside of docs/ to their pages; those that have none become plain words."""
    here = (DOCS / page).parent

    def lead(found: re.Match[str]) -> str:
        words, target, _ = found.groups()
        full = Path(os.path.normpath(here / target))
        if full.is_relative_to(DOCS) or not full.exists():
            return found[0]
        known = PAGES.get(full.relative_to(ROOT).as_posix())
        return f"[{words}]({os.path.relpath(DOCS / known, here)})" if known else words

    return LINK.sub(lead, text)


def more_pages(folder: str) -> str:
    """Contents of a folder that its index does not name, so that a new page is found without being listed."""
    index = DOCS / folder / "index.md"
    named = index.read_text(encoding="utf-8").splitlines() if index.is_file() else []
    pages = [page.stem for page in sorted((DOCS / folder).glob("*.md")) if page != index]
    rest = [f"/{folder}/{name}" for name in pages if name not in named]
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *rest, "```"]) if rest else ""

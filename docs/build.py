"""Build the docs as a folder of HTML pages, and fail on any link inside them that leads nowhere.

python docs/build.py            writes docs/_build/index.html
python docs/build.py --check    only checks the links
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILT = DOCS / "_build"
LINK = re.compile(r"\]\(([^)\s]+)\)")
STYLE = (
    "body{font:16px/1.55 system-ui,sans-serif;max-width:50rem;margin:0 auto;padding:1rem;color:#1a1a1a}"
    "pre{background:#f5f5f5;padding:.7rem;overflow-x:auto}code{background:#f5f5f5}pre code{background:none}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid #ddd;padding:.25rem .6rem}"
    "img{max-width:100%}nav{font-size:.9rem}"
)


def pages() -> list[Path]:
    """Markdown pages, the top level first."""
    found = [page for page in DOCS.rglob("*.md") if BUILT not in page.parents]
    return sorted(found, key=lambda page: (len(page.parts), page))


def broken_links(page: Path) -> list[str]:
    """Links of a page to files that do not exist."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [link.split("#")[0] for link in LINK.findall(text) if "://" not in link]
    return [f"{page.relative_to(ROOT)}: {t}" for t in targets if t and not (page.parent / t).exists()]


def title_of(text: str) -> str:
    """First heading of a page."""
    return text.splitlines()[0].lstrip("# ").strip()


def texts() -> dict[Path, str]:
    """Text of every page by its place in the docs, also of those that are made from the code."""
    from catalogue_page import catalogue_page

    written = {page.relative_to(DOCS): page.read_text(encoding="utf-8") for page in pages()}
    return written | {Path("catalogue.md"): catalogue_page()}


def html_of(text: str, parser: MarkdownIt, *, up: str) -> str:
    """Turn a page's text into HTML; links to other pages of the docs lead to their HTML."""
    body = parser.render(text)
    body = re.sub(r'href="((?!\w+:)[^"]+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title_of(text))}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
        f'<nav><a href="{up}index.html">Overread</a></nav>{body}</html>\n'
    )


def build() -> None:
    """Write all pages, an index of them, and the files they show."""
    shutil.rmtree(BUILT, ignore_errors=True)
    parser = MarkdownIt("commonmark").enable("table")
    for source in DOCS.rglob("*"):
        if source.suffix in {".svg", ".png"} and BUILT not in source.parents:
            target = BUILT / source.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    items = []
    for page, text in texts().items():
        target = (BUILT / page).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(html_of(text, parser, up="../" * (len(page.parts) - 1)), encoding="utf-8")
        items.append(
            f'<li><a href="{page.with_suffix(".html").as_posix()}">{escape(title_of(text))}</a></li>'
        )
    index = f'<!doctype html><meta charset="utf-8"><title>Overread</title><style>{STYLE}</style>'
    (BUILT / "index.html").write_text(
        f"{index}<h1>Overread: docs</h1><ul>{''.join(items)}</ul>\n", encoding="utf-8"
    )


def main() -> int:
    """Check, and build unless asked only to check."""
    broken = [link for page in [*pages(), ROOT / "README.md"] for link in broken_links(page)]
    for link in broken:
        print(f"broken link in {link}", file=sys.stderr)
    if broken:
        return 1
    if "--check" not in sys.argv:
        build()
        print(f"docs: {BUILT.relative_to(Path.cwd()) if Path.cwd() in BUILT.parents else BUILT}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())

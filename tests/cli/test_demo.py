from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from overread.cli import main

PHONE = 390
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--output", str(folder), "--n-images", "240"]) == 0
    return folder / "index.html"


def test_the_page_is_self_contained(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 5
    loads = re.findall(r"""(?:src|href)=["'](?!#)([^"']+)""", text)
    assert [link for link in loads if not link.startswith("#")] == []
    assert "<script" not in text


def test_the_page_says_what_was_done(page):
    text = page.read_text(encoding="utf-8")
    for words in ("golden", "informative_", "test data", "Readings per image", "Your own data"):
        assert words in text


def test_the_same_seed_gives_the_same_page(page, tmp_path):
    assert main(["demo", "--output", str(tmp_path), "--n-images", "240"]) == 0

    # matplotlib names its clip paths at random; all else must be the same.
    def plain(path):
        return re.sub(r"p[0-9a-f]{10}|m[0-9a-f]{10}", "", path.read_text(encoding="utf-8"))

    assert plain(tmp_path / "index.html") == plain(page)


def test_a_browser_shows_the_page_without_errors_or_sideways_scrolling(page, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe id="f" src="{page.as_uri()}" width="{PHONE}" height="800"></iframe><pre id="out"></pre><script>'
        "const f = document.getElementById('f'); f.onload = () => { const d = f.contentDocument; "
        "const e = d.documentElement; document.getElementById('out').textContent = JSON.stringify({"
        "wide: e.scrollWidth, svgs: [...d.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().height)"
        "}); };</script>",
        encoding="utf-8",
    )
    done = subprocess.run(
        [chromium, *FLAGS, "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=8000", "--enable-logging=stderr", "--dump-dom", frame.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    seen = json.loads(re.search(r'<pre id="out">(\{.*?\})</pre>', done.stdout).group(1))
    assert seen["wide"] <= PHONE
    assert len(seen["svgs"]) == 5
    assert min(seen["svgs"]) > 100
    assert "CONSOLE" not in done.stderr

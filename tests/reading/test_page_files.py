"""The page's files are kept by browsers as long as they are the same, and no longer."""

from __future__ import annotations

import re
from pathlib import Path

from overread.apps import room as reading
from overread.apps.room._app import PageFiles
from reading_room import Visitor

PAGE = Path(reading.__file__).with_name("page")


def write_page(folder, *, script="x();"):
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text('<script src="static/app.js"></script>')
    (folder / "app.js").write_text(script)
    return PageFiles(folder)


def test_files_are_kept_for_ever_and_the_page_is_asked_for(open_one):
    stranger = Visitor(open_one(2).app)
    page = stranger.ask("GET", "/")
    assert page.headers["cache-control"] == "no-cache"
    again = stranger.ask("GET", "/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    named = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(named) == len(list(PAGE.iterdir())) - 1
    for name in named:
        answer = stranger.ask("GET", f"/{name}")
        assert answer.status_code == 200
        assert answer.content == (PAGE / name.rpartition("/")[2]).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].startswith(("text/", "image/"))


def test_nothing_else_is_kept(open_one):
    """An answer that is somebody's, or a mistake, must not lie in a cache that others share."""
    room = open_one(2)
    anna = room.visit("Anna")
    (item, *_) = anna.items()
    for path in (
        "/api/me",
        "/api/worklist",
        f"/api/items/{item}",
        "/static/app.js",
        "/static/0/app.js",
        "/none",
    ):
        assert anna.ask("GET", path).headers["cache-control"] == "no-store"
    kept = anna.ask("GET", f"/api/items/{item}/pixels").headers["cache-control"]
    assert "private" in kept
    assert "public" not in kept


def test_a_changed_file_has_another_address(tmp_path):
    first = write_page(tmp_path / "page").place
    assert write_page(tmp_path / "page").place == first
    assert write_page(tmp_path / "page", script="y();").place != first

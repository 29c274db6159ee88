"""The page's own files, read once; each address holds what the file holds, so that a browser need not ask again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

__all__ = ["PageFiles"]

INDEX = "index.html"
KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Nothing in these files is anybody's, so that proxies may keep them too. A year is what HTTP calls for ever.
FOR_EVER = "public, max-age=31536000, immutable"
# Hexadecimal digits of a digest: 64 bits tell two versions of a page apart.
DIGITS = 16


class PageFiles:
    """Files of the page, the same for everybody.

    Parameters
    ----------
    folder
        Where they are. ``index.html`` names the others under ``static/``, and they each other relative to themselves.

    Attributes
    ----------
    place
        Path under which they are served: it changes when any of them does.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in KINDS
        }
        digest = hashlib.sha256()
        for name, content in self._files.items():
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        version = digest.hexdigest()[:DIGITS]
        self.place = f"/static/{version}"
        self._tag = f'"{version}"'
        self._index = self._files.pop(INDEX).replace(b'"static/', f'"static/{version}/'.encode())

    async def index(self, request: Request) -> Response:
        """Answer with the page; who somebody is, it learns by the link. A browser asks each time whether it is new."""
        headers = {"Cache-Control": "no-cache", "ETag": self._tag}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        return Response(self._index, headers=headers, media_type=KINDS[".html"])

    async def file(self, request: Request) -> Response:
        """Answer with a file of the page."""
        name = request.path_params["name"]
        content = self._files.get(name)
        if content is None:
            return JSONResponse({"error": "there is nothing here", "code": "unknown"}, 404)
        return Response(content, headers={"Cache-Control": FOR_EVER}, media_type=KINDS[Path(name).suffix])

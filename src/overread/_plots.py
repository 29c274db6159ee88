"""Make a matplotlib figure and write it to a file.

matplotlib is imported late: it takes half a second, and most commands draw no figure.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from overread.errors import UsageError
from overread.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def empty_figure(width: float, height: float) -> Figure:
    """Return a figure of a size in inches, without a window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def figure_kind(path: Path) -> str:
    """Return the figure format for a path's ending."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise UsageError(
            f"{path}: give the figure a name that ends in .png, .svg or .pdf, not {path.suffix!r}"
        )
    return kind


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure atomically as PNG, SVG or PDF, by the ending. The same figure gives the same bytes."""
    target = Path(path)
    return write_atomically(target, encode_figure(figure, figure_kind(target)))


def encode_figure(figure: Figure, kind: str) -> bytes:
    """Bytes of a figure as a PNG, SVG or PDF file; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with rc_context({"svg.hashsalt": "overread"}):
        figure.savefig(buffer, format=kind, dpi=200, metadata=undated)
    return buffer.getvalue()

"""The record a benchmark returns, and how the results are written."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("overread", "numpy", "scipy", "numba", "scikit-learn", "pandas", "shapely")


@dataclass(frozen=True)
class Row:
    """One comparison; ``ratio`` is peer / ours, so above 1 ours is better."""

    what: str
    ours: float
    peer: float | None
    ratio: float | None
    unit: str
    note: str = ""


def compare(what: str, ours: float, peer: float | None, unit: str, note: str = "") -> Row:
    """Row with its ratio filled in."""
    return Row(what, ours, peer, peer / ours if peer is not None and ours else None, unit, note)


def write(module: str, rows: list[Row], *, quick: bool) -> None:
    """Write ``results/<module>.json`` and rebuild the table of all results."""
    RESULTS.mkdir(exist_ok=True)
    content = {
        "module": module,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "mode": "quick" if quick else "full",
        "processor": processor(),
        "versions": {name: installed for name in PACKAGES if (installed := _version(name))},
        "rows": [asdict(row) for row in rows],
    }
    _replace(RESULTS / f"{module}.json", json.dumps(content, indent=1) + "\n")
    _replace(RESULTS / "README.md", table())


def table() -> str:
    """Markdown table of every result in ``results/``."""
    lines = ["# Results", "", "Written by `make bench`; do not edit. Ratio = peer / ours.", ""]
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        if "module" not in content:  # of a benchmark with a page of its own
            continue
        lines += [f"## {content['module']}", ""]
        lines += [f"{content['date']}, {content['mode']} size, {content['processor']}.", ""]
        lines += [", ".join(f"{k} {v}" for k, v in content["versions"].items()) + ".", ""]
        lines += ["| what | ours | peer | ratio | unit | note |", "|---|---:|---:|---:|---|---|"]
        lines += [_line(Row(**row)) for row in content["rows"]] + [""]
    return "\n".join(lines)


def processor() -> str:
    """Model name of the processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def _line(row: Row) -> str:
    figures = [_number(value) for value in (row.ours, row.peer, row.ratio)]
    return f"| {row.what} | {' | '.join(figures)} | {row.unit} | {row.note} |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _replace(path: Path, text: str) -> None:
    part = path.with_suffix(path.suffix + ".part")
    with part.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)

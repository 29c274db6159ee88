"""How much memory a fit may take for columns that it holds."""

from __future__ import annotations

import os
from pathlib import Path

from overread.errors import InvalidInputError
from overread.models.solver.row_sample import sample_size

__all__ = ["COPIES", "LEAST_COLUMNS", "fits_in_memory", "machine_bytes", "room_for_columns"]

# Vectors of one float64 per row that a fit holds beside the columns: labels and weights of the loss, scores, residuals,
# their copies in the line search, and curvature. Counted in newton.py and bag_loss.py, and rounded up.
VECTORS = 20
# Copies of the sampled rows of the working set: the block, its room to grow, and two products of it.
SAMPLES = 4
# Columns of a working set that the sample is reckoned for; more of them cost more memory than was said. By eye.
USUAL_WORKING_SET = 600
# Columns that must fit, so that steps do not read the file: fewer than this is no fit that ends. By eye.
LEAST_COLUMNS = 16
# Copies of the features in a fit in memory: as they were read, and standardized.
COPIES = 2


def room_for_columns(memory_mb: float | None, n_rows: int, n_columns: int, itemsize: int = 4) -> int:
    """Bytes for columns that are held, when the whole process may take so many megabytes.

    Parameters
    ----------
    memory_mb
        Of the process; None: half of the machine's memory.
    n_rows, n_columns, itemsize
        Of the features.

    Raises
    ------
    InvalidInputError
        If what a fit needs anyway leaves no room for columns; says how much would do.
    """
    allowed = machine_bytes() / 2 if memory_mb is None else 1e6 * memory_mb
    other = _other_bytes(n_rows, n_columns)
    column = n_rows * itemsize
    needed = other + min(n_columns, LEAST_COLUMNS) * column
    if allowed < needed:
        raise InvalidInputError(
            f"memory_mb={allowed / 1e6:.0f} is too little for {n_rows} rows: the least is {needed / 1e6:.0f}"
        )
    return int(allowed - other)


def fits_in_memory(memory_mb: float, n_rows: int, n_columns: int, itemsize: int = 4) -> bool:
    """Whether features can be read and fitted as a whole when the process may take so many megabytes.

    Parameters
    ----------
    memory_mb
        Of the process.
    n_rows, n_columns, itemsize
        Of the features.
    """
    table = n_rows * n_columns * itemsize
    return _other_bytes(n_rows, n_columns) + COPIES * table <= 1e6 * memory_mb


def _other_bytes(n_rows: int, n_columns: int) -> float:
    """Memory that the process has now, and what a fit needs beside columns."""
    working = min(n_columns, USUAL_WORKING_SET)
    return _taken_bytes() + 8 * (VECTORS * n_rows + SAMPLES * working * min(n_rows, sample_size(working)))


def machine_bytes() -> int:
    """Memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _taken_bytes() -> int:
    """Memory that the process has now; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0

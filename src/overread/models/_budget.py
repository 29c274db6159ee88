"""How much memory a fit may take for columns that it holds, and how little it can do with."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from overread.errors import TooLittleMemoryError
from overread.models.solver._curvature import count_bytes, count_sampled, sample_size

# Vectors of one float64 per row that a fit holds beside the columns: labels and weights of the loss, scores, residuals,
# their copies in the line search, and curvature. Counted in newton.py and bag_loss.py, and rounded up.
VECTORS = 20
# Columns of a working set whose curvature has all the rows that it wants: with more columns it has fewer rows each, and
# steps are slower. The largest seen in a fold of 53,350 rows x 3750 features is 549 (`benchmarks.study_memory large`).
USUAL_WORKING_SET = 600
# Columns that must fit, so that steps do not read the file: with fewer, a fit does not end in practice. By judgement.
LEAST_COLUMNS = 16
# Copies of the features in a fit in memory: as they were read, and standardized.
COPIES = 2
# What a fit takes beside all that is counted: columns on their way from the file, code that is loaded, small objects.
# Not measured: set by judgement.
GROWTH_BYTES = 32e6
# Arrays from this size on, such as the sampled rows, go back to the system as soon as they are freed (mallopt(3)); a
# column of up to a million rows does not: with glibc's own 128 kB, reading columns takes twice the processor time.
MMAP_THRESHOLD, MMAP_BYTES = -3, 4_000_000


@dataclass(frozen=True)
class ColumnBudget:
    """Memory of a fit, in bytes: for columns that are held, and for the sampled rows of the curvature."""

    columns: int
    sample: int


def room_for_columns(memory_mb: float | None, n_rows: int, n_columns: int, itemsize: int = 4) -> ColumnBudget:
    """Return the memory left for a fit when the whole process may take this many megabytes."""
    allowed = machine_bytes() / 2 if memory_mb is None else 1e6 * memory_mb
    taken = _taken_bytes()
    least = taken + find_least_bytes(n_rows, n_columns, itemsize)
    if allowed < least:
        raise TooLittleMemoryError(
            f"memory_mb={allowed / 1e6:.0f} is too little for {n_rows} rows: the least is {least / 1e6:.0f}"
        )
    left = int(allowed - taken - _other_bytes(n_rows, n_columns))
    columns = min(left, n_rows * n_columns * itemsize)
    return ColumnBudget(columns, _sample_bytes(n_rows, n_columns) + left - columns)


def find_least_bytes(n_rows: int, n_columns: int, itemsize: int = 4) -> float:
    """Find the memory that a fit from a file needs in addition to that of the process."""
    return _other_bytes(n_rows, n_columns) + min(n_columns, LEAST_COLUMNS) * n_rows * itemsize


def fits_in_memory(memory_mb: float, n_rows: int, n_columns: int, itemsize: int = 4) -> bool:
    """Whether features can be read and fitted as a whole when the process may take this many megabytes."""
    table = n_rows * n_columns * itemsize
    return _taken_bytes() + _other_bytes(n_rows, n_columns) + COPIES * table <= 1e6 * memory_mb


def _other_bytes(n_rows: int, n_columns: int) -> float:
    """Memory that a fit needs in addition to its columns."""
    return 8 * VECTORS * n_rows + _sample_bytes(n_rows, n_columns) + GROWTH_BYTES


def _sample_bytes(n_rows: int, n_columns: int) -> int:
    working = min(n_columns, USUAL_WORKING_SET)
    return count_bytes(working, count_sampled(n_rows, sample_size(working)))


def machine_bytes() -> int:
    """Memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _taken_bytes() -> int:
    """Memory that the process has now, after it released unused memory; 0 if the system gives no number."""
    _return_freed_memory()
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _return_freed_memory() -> None:
    """Let glibc give freed memory back, now and later."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, MMAP_BYTES)
        library.malloc_trim(0)
    except (OSError, AttributeError, TypeError):  # another C library
        return

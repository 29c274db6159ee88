"""Open image files; any failure becomes one typed error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.errors import ImageError, InvalidInputError, StorageError
from overread.files import read_capped
from overread.images._dicom import DICOM_PREFIX, PREAMBLE, read_dicom
from overread.images._display import rendered
from overread.images._grid import GRID_MM, Radiograph, Resampler, checked_grid, radiograph
from overread.images._limits import MAX_BYTES
from overread.images._pictures import read_grey_picture
from overread.images._sketch import sketch
from overread.images._source import SourceImage
from overread.images._spacing import choose_spacing

ROWS_AT_ONCE = 256
Result = TypeVar("Result")


def read_image(
    path: str | Path, *, mm_per_px: float | Sequence[float] | None = None, grid_mm: float = GRID_MM
) -> Radiograph:
    """Read a DICOM, PNG, TIFF or JPEG file as a radiograph for measuring.

    The kind of file is recognized by its content, not its name. docs/reference/images.md lists what is refused.

    Parameters
    ----------
    path
        The file.
    mm_per_px
        Pixel size in mm, one number or (x, y), if the file does not state it. If it does, both must agree.
    grid_mm
        Side of the square pixels to resample to.

    Raises
    ------
    ImageError
        If the file is damaged, too large, not supported, or has no usable pixel size.
    StorageError
        If the device fails.
    """
    source = read_source(path)

    def work() -> Radiograph:
        made = radiograph(source, choose_spacing(source.spacing, mm_per_px), grid_mm=grid_mm)
        return replace(made, pixel_hash=pixel_fingerprint(source), sketch=sketch(source.measured()))

    return name_errors(path, work)


def display_image(
    path: str | Path, *, mm_per_px: float | Sequence[float] | None = None, grid_mm: float | None = None
) -> NDArray[np.uint8]:
    """Render a file for display, with its window or look-up table; bone is white.

    Parameters
    ----------
    path
        The file.
    mm_per_px
        As in `read_image`; needed only with `grid_mm`.
    grid_mm
        Side in mm of the square pixels to resample to, so that the picture covers the pixels of `read_image`. None
        keeps the file's pixels.

    Returns
    -------
    array of uint8
        Rows x columns.
    """
    source = read_source(path)

    def work() -> NDArray[np.uint8]:
        grey = rendered(source)
        if grid_mm is not None:
            spacing = choose_spacing(source.spacing, mm_per_px)
            grey = Resampler(source.shape, (spacing.x, spacing.y), checked_grid(grid_mm))(grey)
        return np.round(np.clip(grey, 0.0, 1.0) * 255.0).astype(np.uint8)

    return name_errors(path, work)


def read_source(path: str | Path) -> SourceImage:
    """Read the stored pixels of a file and their meaning; the first half of `read_image`."""
    return name_errors(path, lambda: _decoded(file_content(Path(path))))


def pixel_fingerprint(source: SourceImage) -> str:
    """SHA-256 of the shape and the measured values of a file's image.

    Two files have the same fingerprint if and only if they show the same image, in any format, compression, bit depth,
    pixel size and polarity. `read_image` returns it with the radiograph, so that no file is decoded twice.
    """
    rows, columns = source.shape
    digest = hashlib.sha256(f"{rows}x{columns}:".encode())
    values = source.measured()
    for start in range(0, rows, ROWS_AT_ONCE):
        digest.update(values[start : start + ROWS_AT_ONCE].astype("<f4").tobytes())
    return digest.hexdigest()


def file_content(path: Path) -> bytes:
    """Bytes of a file within the limit."""
    try:
        content = read_capped(path, MAX_BYTES, lambda _: ImageError(f"more than {MAX_BYTES >> 20} MiB"))
    except (FileNotFoundError, NotADirectoryError):
        raise ImageError("no such file") from None
    except IsADirectoryError:
        raise ImageError("is a folder; give one image file") from None
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror}") from error
    if not content:
        raise ImageError("the file is empty")
    return content


def _is_dicom(content: bytes) -> bool:
    return content[PREAMBLE : PREAMBLE + len(DICOM_PREFIX)] == DICOM_PREFIX


def picture_kind(content: bytes) -> str | None:
    """Recognize PNG, JPEG and TIFF by their first bytes, unless the file is DICOM with such a preamble."""
    if _is_dicom(content):
        return None
    starts = {"PNG": (b"\x89PNG\r\n\x1a\n",), "JPEG": (b"\xff\xd8\xff",), "TIFF": (b"II*\0", b"MM\0*")}
    return next((kind for kind, beginnings in starts.items() if content.startswith(beginnings)), None)


def _decoded(content: bytes) -> SourceImage:
    """Pixels by the kind of the content."""
    # First, because a DICOM file's preamble may also make it a TIFF.
    if _is_dicom(content):
        return read_dicom(content)
    kind = picture_kind(content)
    if kind is not None:
        return read_grey_picture(content, kind)
    raise ImageError("not a DICOM, PNG, TIFF or JPEG file")


def name_errors(path: str | Path, work: Callable[[], Result]) -> Result:
    """Return the result of the work, or a typed error with the name of the file but no text from it.

    A decoder's message is dropped, because it may quote the file. pylibjpeg's PanicException is not an Exception, so
    everything except an interrupt is caught.
    """
    try:
        return work()
    except InvalidInputError as error:
        raise ImageError(f"{path}: {error}") from None
    except StorageError as error:
        raise StorageError(f"{path}: {error}") from error
    except MemoryError:
        raise ImageError(f"{path}: does not fit into memory") from None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise ImageError(f"{path}: damaged, or in another format ({type(error).__name__})") from None

"""The one way to write a file: whole or not at all.

The bytes go to a temporary file in the same folder, are flushed to the device, and replace the target by one
rename. A kill or a full disk leaves the old file as it was. A link is followed; what is there and is no regular file,
such as a device, is never replaced.

Files that belong together (`write_together`) are all prepared first, and renamed under a marker that says that they
are not all there yet; who reads such files asks `unfinished_files` first.

Names of files in a study's folder that both who writes them and who looks for them must know.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from overread.errors import StorageError
from overread.files._regular import kind_of_file, read_regular, real_path

MARKER = ".overread-unfinished"


def no_folder(path: Path) -> str:
    """Say why a path is no folder."""
    return f"{path}: is a file, not a folder" if path.exists() else f"{path}: there is no such folder"


def write_atomically(
    path: str | Path,
    content: bytes | Iterable[bytes] | Callable[[BinaryIO], None],
    *,
    exclusive: bool = False,
    mode: int | None = None,
    within: Path | None = None,
) -> Path:
    """Write ``content`` to ``path`` so that a reader sees the old file or the new one, never a part.

    Parameters
    ----------
    path
        The file; a link is followed.
    content
        Its bytes; or parts of them, which need not be in memory as a whole; or a function that writes to an open file
        in any order.
    exclusive
        Never replace an existing file, not even one that appears meanwhile.
    mode
        Permissions, from the first moment on; None: as ``open`` gives them.
    within
        A folder that a link must not lead out of: for names that we chose, in a folder that a stranger may have made.

    Raises
    ------
    FileExistsError
        If ``exclusive`` is asked for and there is a file; it is then untouched.
    StorageError
        If the folder does not exist, what is there is no regular file, or the device refuses; the old file is then
        untouched.
    """
    place = Path(path)
    target = _real_target(place, within)
    with _prepared(place, target.parent, content, mode) as part, _told(place):
        if exclusive:
            os.link(part, target)
        else:
            part.replace(target)
    _flush_folder(target.parent)
    return place


def write_together(folder: Path, files: Mapping[str, Iterable[bytes]]) -> list[Path]:
    """Write files of a folder so that a kill leaves all of them as they were, or a marker that says what is missing.

    Parameters
    ----------
    folder
        Must exist; links that lead out of it are not followed.
    files
        Blocks of bytes, by the file's path relative to the folder.

    Raises
    ------
    StorageError
        As `write_atomically` does; where it comes before the first rename, nothing has changed.
    """
    targets = {name: _real_target(folder / name, folder) for name in files}
    with ExitStack() as stack:
        parts = {}
        for name, blocks in files.items():
            prepared = _prepared(folder / name, targets[name].parent, blocks, None)
            parts[name] = stack.enter_context(prepared)
        marker = write_atomically(folder / MARKER, "\n".join(files).encode(), within=folder)
        for name, part in parts.items():
            with _told(folder / name):
                part.replace(targets[name])
    for parent in {target.parent for target in targets.values()}:
        _flush_folder(parent)
    marker.unlink(missing_ok=True)
    _flush_folder(folder)
    return [folder / name for name in files]


def unfinished_files(folder: Path) -> list[str]:
    """Files of a folder that were being written together when the process was killed; none where all is well."""
    try:
        return read_regular(folder / MARKER).decode("utf-8", "replace").splitlines() or ["some files"]
    except OSError:
        return []


def _real_target(path: Path, within: Path | None) -> Path:
    """Where a path leads; refuse what no file may replace."""
    target = real_path(path)
    if within is not None and not target.is_relative_to(real_path(within)):
        raise StorageError(f"{path}: is a link that leads out of {within} (take it away)")
    try:
        kind = kind_of_file(target.stat().st_mode)
    except FileNotFoundError:
        return target
    except OSError as error:
        raise StorageError(f"{path}: cannot write here: {error.strerror or error}") from error
    if kind is not None:
        raise StorageError(f"{path}: is {kind}, and is not replaced by a file (give another place)")
    return target


@contextmanager
def _told(place: Path) -> Iterator[None]:
    """Turn what the device says into a `StorageError` that names the place."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise StorageError(f"{place}: not written: {error.strerror or error}") from error


@contextmanager
def _prepared(
    place: Path,
    folder: Path,
    content: bytes | Iterable[bytes] | Callable[[BinaryIO], None],
    mode: int | None,
) -> Iterator[Path]:
    """Write a temporary file in a folder, to be renamed inside; whatever happens, it does not stay."""
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".overread-", suffix=".part")
    except FileNotFoundError as error:
        raise StorageError(f"{place}: cannot write here: there is no folder {place.parent}") from error
    except OSError as error:
        raise StorageError(f"{place}: cannot write here: {error.strerror or error}") from error
    part = Path(name)
    try:
        with _told(place):
            with os.fdopen(handle, "wb") as file:
                if callable(content):
                    content(file)
                else:
                    file.writelines((content,) if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp makes files private to their owner; open does not.
            part.chmod(0o666 & ~UMASK if mode is None else mode)
        yield part
    finally:
        part.unlink(missing_ok=True)


# Read once: the system tells the mask only to who sets it, which threads must not do at the same time.
UMASK = os.umask(0)
os.umask(UMASK)


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Settings of a simulated study; a folder that has this file is one.
SIMULATION_FILE = "known/simulation.json"
# Every nodule that was put into its images, whether a reader marked it or not.
KNOWN_NODULES_FILE = "known/nodules.csv"

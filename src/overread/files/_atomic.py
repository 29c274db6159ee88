"""Write files atomically.

The bytes go to a temporary file in the same folder, are flushed to the device, and replace the target by one rename. A
kill or a full disk leaves the old file as it was. A link is followed. An existing path that is not a regular file, such
as a device, is never replaced.

Files that belong together (`write_together`) are all prepared first, and renamed under a marker that says that they are
incomplete; readers of such files call `unfinished_files` first.

The module also has the names of files in a study's folder that writers and readers share.
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
    """Say why a path is not a folder."""
    return f"{path}: is a file, not a folder" if path.exists() else f"{path}: no such folder"


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
        The bytes; or an iterable of parts; or a function that writes to an open file.
    exclusive
        Never replace an existing file, even one created meanwhile.
    mode
        Permissions from the start; None: those that ``open`` gives.
    within
        A folder that a link must not lead out of; for fixed names in a folder from an untrusted source.

    Raises
    ------
    FileExistsError
        If ``exclusive`` is set and the file exists; it is then unchanged.
    StorageError
        If the folder does not exist, the path is not a regular file, or writing fails; the old file is then unchanged.
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
    """Write files of a folder together: a kill leaves all unchanged, or a marker that lists the unfinished ones.

    Parameters
    ----------
    folder
        Must exist; links that lead out of it are not followed.
    files
        Blocks of bytes, by the file's path relative to the folder.

    Raises
    ------
    StorageError
        As for `write_atomically`; before the first rename nothing has changed.
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
    """Files of a folder whose joint writing was interrupted; empty if complete."""
    try:
        return read_regular(folder / MARKER).decode("utf-8", "replace").splitlines() or ["some files"]
    except OSError:
        return []


def _real_target(path: Path, within: Path | None) -> Path:
    """Resolve a path; refuse one that a file must not replace."""
    target = real_path(path)
    if within is not None and not target.is_relative_to(real_path(within)):
        raise StorageError(f"{path}: is a link that leads out of {within}. Remove it.")
    try:
        kind = kind_of_file(target.stat().st_mode)
    except FileNotFoundError:
        return target
    except OSError as error:
        raise StorageError(f"{path}: cannot write here: {error.strerror or error}") from error
    if kind is not None:
        raise StorageError(f"{path}: is {kind}. Choose another file.")
    return target


@contextmanager
def _told(place: Path) -> Iterator[None]:
    """Turn an error of the device into a `StorageError` that names the path."""
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
    """Write a temporary file in a folder, to be renamed inside the block; it is always removed."""
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".overread-", suffix=".part")
    except FileNotFoundError as error:
        raise StorageError(f"{place}: cannot write here: no folder {place.parent}") from error
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


# Read once: reading the mask also sets it, which threads must not do at the same time.
UMASK = os.umask(0)
os.umask(UMASK)


def _flush_folder(folder: Path) -> None:
    """Make the rename durable, where the system can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Settings of a simulated study; a folder that has this file is one.
SIMULATION_FILE = "known/simulation.json"
# Every simulated nodule, marked or not.
KNOWN_NODULES_FILE = "known/nodules.csv"

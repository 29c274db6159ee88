"""Match file names, paths, addresses and ids of the same image.

The id of an image is the name of its file without the ending, or its path in the folder where two files share that
name. The name of an image in other programs (`CXR_001.dcm`, `scans/CXR_001.dcm`, `/data/upload/7/0a1b2c3d-CXR_001.png`,
`/data/local-files/?d=scans/CXR_001.png`) is matched by the longest end of the path that it shares with an image: first
with the ending, then without it, then ignoring capital letters and the coding of accents. Folders may differ only if
the image's id has no folder and so is unique by name. If two images fit equally well, the error names both.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

from overread.errors import TableError
from overread.tables import quote_cell, visible_text

DICOM_ENDINGS = (".dcm", ".dicom")
IMAGE_ENDINGS = (*DICOM_ENDINGS, ".png", ".tif", ".tiff", ".jpg", ".jpeg")
# Label Studio puts eight hexadecimal digits before the name of an uploaded file.
UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")
# ... and the path of a file in a local storage behind this.
LOCAL_FILE = re.compile(r"^.*/local-files/\?d=")
UPLOADED = re.compile(r"^.*/data/upload/\d+/[0-9a-f]{8}-")


def without_ending(path: str) -> str:
    """Name of a file without an image ending; a UID, whose last number is not an ending, is not changed."""
    file = PurePosixPath(path)
    return file.stem if file.suffix.lower() in IMAGE_ENDINGS else file.name


def ids_of_files(paths: Sequence[str]) -> list[str]:
    """Ids of files: their names without ending, or the path if two files would get the same id."""
    names = [without_ending(names_of(path)[-1]) for path in paths]
    counts = Counter(names)
    return [path if counts[name] > 1 else name for path, name in zip(paths, names, strict=True)]


def names_of(image: str) -> tuple[str, ...]:
    """Possible names of an image, the most certain first: as written, ends of its path, its uploaded name."""
    names = [image]
    for path in _whole_paths(image):
        parts = [part for part in path.split("/") if part]
        names += ["/".join(parts[start:]) for start in range(len(parts))]
    names.append(UPLOAD_PREFIX.sub("", names[-1]))
    return tuple(dict.fromkeys(name for name in names if name))


def _whole_paths(image: str) -> tuple[str, ...]:
    """Path of an image without the prefix of a server, as written and decoded."""
    path = LOCAL_FILE.sub("", image.replace("\\", "/"))
    return path, unquote(path)


def _stem_of(name: str) -> str:
    """Name or path without an image ending."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{without_ending(last)}" if last else name


class ImageNames:
    """The images of a study or a table, found by any of their names.

    Parameters
    ----------
    paths : mapping
        Path of each image's file by the image's id; empty if unknown.
    place : str
        Table that lists the images, for messages.
    """

    def __init__(self, paths: Mapping[str, str], place: str = "the images table") -> None:
        self.ids = list(paths)
        self.place = place
        self._known = set(self.ids)
        # By name: the images that have it, and whether it alone identifies the image.
        self._tiers: list[tuple[Callable[[str], str], dict[str, dict[str, bool]]]] = [
            (how, {}) for how in (str, _stem_of, lambda name: visible_text(_stem_of(name)).casefold())
        ]
        for image_id, path in paths.items():
            unique = "/" not in image_id.replace("\\", "/")
            whole = {image_id, path}
            for name in dict.fromkeys((*names_of(image_id), *names_of(path))):
                for how, index in self._tiers:
                    found = index.setdefault(how(name), {})
                    found[image_id] = found.get(image_id, False) or unique or name in whole

    def find(self, name: str) -> str | None:
        """Return the id of the image with a name, or None."""
        if not self._known or name in self._known:
            return name if self._known else None
        wanted = names_of(name)
        served = UPLOADED.match(name) is not None
        whole = {name, *("/".join(part for part in path.split("/") if part) for path in _whole_paths(name))}
        for how, index in self._tiers:
            for one in wanted:
                fits = index.get(how(one), {})
                found = [image for image, alone in fits.items() if alone or served or one in whole]
                if len(found) > 1:
                    raise TableError(
                        f"{quote_cell(name)} may be {quote_cell(found[0])} or {quote_cell(found[1])} of {self.place}"
                        f"{f', or {len(found) - 2} more' if len(found) > 2 else ''} (write the full id or path)"
                    )
                if found:
                    return found[0]
        return None

    def find_all(self, names: Iterable[str]) -> dict[str, str]:
        """Ids by name, for all names of the images."""
        owners: dict[str, str] = {}
        found: dict[str, str] = {}
        for name in dict.fromkeys(names):
            image_id = self.find(name)
            if image_id is None:
                continue
            if (owner := owners.setdefault(image_id, name)) != name:
                raise TableError(
                    f"the images {quote_cell(owner)} and {quote_cell(name)} both match the id {quote_cell(image_id)} "
                    f"of {self.place} (give each a separate row there, with its full id)"
                )
            found[name] = image_id
        return found

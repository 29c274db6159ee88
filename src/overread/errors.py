"""The errors that Overread raises, and the exit code of each.

::

    OverreadError                    1   base class: catch this to catch them all ├── UsageError
    2   a mistake in the command line ├── MissingExtraError            2   also an ImportError: needs an
    optional package that is not installed ├── InvalidInputError            4   also a ValueError: data that
    cannot be used as it is │   ├── InputTypeError           4   also a TypeError: a value of an unsuitable
    type │   ├── TableError               4   a table's file, row or column │   ├── FormatError              4
    a file that violates its format │   ├── ImageError               4   an image file that cannot be read or
    trusted │   └── ModelFileError           4   a saved model that is damaged, or from another schema ├──
    StorageError                 5   no space, no permission, or a failing device ├── NotConvergedError
    6   a fit that was asked to converge and did not ├── FitError                     6   a model of a study
    that could not be fitted ├── LeakageError                 7   the same patient or pixels in two splits └──
    LockedError                  8   another run holds the study

    OverreadWarning                      base class of the warnings └── DataWarning                      a
    result that is less reliable than it looks

0 is success, 1 a bug, 3 "finished, but images were skipped", 130 an interrupt.
"""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

__all__ = [
    "DataWarning",
    "FitError",
    "FormatError",
    "ImageError",
    "InputTypeError",
    "InvalidInputError",
    "LeakageError",
    "LockedError",
    "MissingExtraError",
    "ModelFileError",
    "NotConvergedError",
    "OverreadError",
    "OverreadWarning",
    "StorageError",
    "TableError",
    "UsageError",
]


class OverreadError(Exception):
    """Base class of all errors that Overread raises."""

    exit_code: ClassVar[int] = 1


class UsageError(OverreadError):
    """A mistake in the command line."""

    exit_code = 2


EXTRAS = {
    "room": ("the reading room", ("starlette", "uvicorn")),
    "pacs": ("DICOM documents and networking", ("highdicom", "pynetdicom")),
    "cluster": ("Dask", ("dask", "distributed")),
    "onnx": ("ONNX", ("onnx",)),
}
"""What each optional extra adds, and its packages."""


class MissingExtraError(OverreadError, ImportError):
    """An optional package is not installed; the message says how to install it."""

    exit_code = 2

    @staticmethod
    def say(job: str, extra: str) -> str:
        """Return the message: what the job needs, and the command that installs it."""
        return f"{job} needs {EXTRAS[extra][0]}: pip install 'overread[{extra}]'"


def require_extra(extra: str, job: str) -> None:
    """Refuse a job at its start if a package of the extra is missing."""
    try:
        for package in EXTRAS[extra][1]:
            import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtraError(MissingExtraError.say(job, extra)) from error


def find_extra(error: ModuleNotFoundError) -> str | None:
    """Return the extra with the missing package; None for a required package."""
    package = (error.name or "").partition(".")[0]
    return next((extra for extra, (_, packages) in EXTRAS.items() if package in packages), None)


class InvalidInputError(OverreadError, ValueError):
    """Input that cannot be used as it is; the message says where the problem is and what to do."""

    exit_code = 4


class InputTypeError(InvalidInputError, TypeError):
    """A value of an unsuitable type, such as text instead of a number or a sparse instead of a dense matrix."""


class TooLittleMemoryError(InvalidInputError):
    """``memory_mb`` is too low for a fit."""


class TableError(InvalidInputError):
    """A problem in a table; the message names file, row and column and says what to do."""


class FormatError(InvalidInputError):
    """A file that violates its format."""


class ImageError(InvalidInputError):
    """An image file that cannot be read or trusted; the message contains nothing about the patient."""


class ModelFileError(InvalidInputError):
    """A saved model that is damaged or was written by another schema version."""


class StorageError(OverreadError):
    """No space, no permission, or a failing device."""

    exit_code = 5


class NotConvergedError(OverreadError):
    """A fit that did not converge although it was required to."""

    exit_code = 6


class FitError(OverreadError):
    """A model of a study that could not be fitted; the study continues with its other models.

    Parameters
    ----------
    model
        Name of the model.
    reason
        Message of the failed fit.
    """

    exit_code = 6

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(reason)
        self.model = model


class LeakageError(OverreadError):
    """The same patient, or the same pixels, in two splits."""

    exit_code = 7


class LockedError(OverreadError):
    """Another run holds the study folder."""

    exit_code = 8


class OverreadWarning(UserWarning):
    """Base class of all warnings that Overread gives."""


class DataWarning(OverreadWarning):
    """The data make a result less reliable than it looks."""

"""Saving models as JSON, and loading only what is exactly what was saved.

A file is one JSON object::

    format    "overread-model"
    schema    version of this layout, an integer
    sha256    of the payload in canonical form: sorted keys, no spaces, ASCII
    payload   kind        name of the model's class
              overread    version of this package
              libraries   versions of what it ran on
              parameters  of the constructor; those in `later_parameters` only where they are not the default
              fitted      attributes, each as its `Field` says

Numbers are written so that they come back bit by bit. No time and no machine is recorded: the same model gives
the same bytes. A file is refused unless it is, byte by byte, what `save` would write for what was read from it,
so that no changed bit goes unnoticed, not even one in the spelling of a number.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

import overread
from overread.errors import InvalidInputError, ModelFileError, StorageError
from overread.files.atomic import write_atomically
from overread.files.capped import read_capped
from overread.files.sealed import Seal
from overread.files.strict_json import parse_json
from overread.models.fields import (
    Field,
    Place,
    Text,
    check_keys,
    decode_parameter,
    encode_parameter,
)

__all__ = ["SavedModel", "from_document", "load", "model_bytes", "save", "to_document"]

SCHEMA = 1
SEAL = Seal({"format": "overread-model", "schema": SCHEMA})
LARGEST_FILE = 2**28
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")

_KINDS: dict[str, type[SavedModel]] = {}


class SavedModel:
    """Gives an estimator `save` and `load`; ``kind="..."`` in the class statement names it in files.

    A subclass lists its fitted attributes in ``saved_fields``. One without a kind of its own cannot be saved,
    because loading would give back its parent.
    """

    kind: ClassVar[str]
    # Parameters younger than the schema. They are left out at their default, so that a model that does without
    # them has the same bytes as before they were there, and its old files are read.
    later_parameters: ClassVar[frozenset[str]] = frozenset()
    saved_fields: ClassVar[Mapping[str, Field]]

    def __init_subclass__(cls, *, kind: str | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if kind is None:
            return
        known = _KINDS.get(kind)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"models of the kind {kind!r} are already {known.__qualname__}")
        cls.kind = kind
        _KINDS[kind] = cls

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a JSON file, whole or not at all; see `overread.models.persistence`."""
        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of this class; predictions are bit by bit those of the saved one."""
        model = load(path)
        if not isinstance(model, cls):
            raise ModelFileError(f"{path}: holds a {type(model).__name__}, not a {cls.__name__}")
        return model


def save(model: SavedModel, path: str | Path) -> Path:
    """Write a fitted model to a JSON file, whole or not at all.

    Raises
    ------
    InvalidInputError
        If a parameter cannot be written (a random generator), or a coefficient is not finite.
    StorageError
        If the folder does not exist or the device refuses.
    """
    return write_atomically(path, model_bytes(model))


def model_bytes(model: SavedModel) -> bytes:
    """Bytes that `save` writes; the same model gives the same bytes."""
    return SEAL.spell(to_document(model))


def to_document(model: SavedModel) -> dict[str, Any]:
    """Turn a fitted model into the JSON object of its file, to be kept inside another file."""
    if _KINDS.get(getattr(type(model), "kind", "")) is not type(model):
        raise InvalidInputError(
            f"{type(model).__name__} has no kind of its own to be saved as: "
            f'declare class {type(model).__name__}(..., kind="{type(model).__name__}")'
        )
    check_is_fitted(model)
    payload = _payload(model)
    try:
        return SEAL.close(payload)
    except ValueError as error:
        raise InvalidInputError(
            "the model holds NaN or infinity and cannot be saved; refit it on features of a usual scale"
        ) from error


def from_document(document: Any, name: str) -> Any:
    """Read a model from the JSON object of its file; ``name`` is the place for messages."""
    try:
        return _restore(_check_payload(document, None))
    except RecursionError as error:
        raise ModelFileError(f"{name}: is nested too deeply to be a saved model") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error


def load(path: str | Path) -> Any:
    """Read a model of any kind from a JSON file.

    Raises
    ------
    ModelFileError
        If the file is damaged, of another schema, or of an unknown kind.
    StorageError
        If it cannot be opened.
    """
    content = _read(Path(path))
    document = parse_json(content, str(path), error=ModelFileError)
    try:
        return _restore(_check_payload(document, content))
    except RecursionError as error:
        raise ModelFileError(f"{path}: is nested too deeply to be a saved model") from error
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _payload(model: SavedModel) -> dict[str, Any]:
    parameters: dict[str, Any] = model.get_params(deep=False)  # type: ignore[attr-defined]
    defaults = _later_defaults(type(model))
    return {
        "kind": model.kind,
        "overread": overread.__version__,
        "libraries": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "parameters": {
            name: encode_parameter(value, name)
            for name, value in parameters.items()
            if name not in defaults or value != defaults[name]
        },
        "fitted": {
            name: None if field.optional and not hasattr(model, name) else field.encode(getattr(model, name))
            for name, field in model.saved_fields.items()
        },
    }


def _later_defaults(cls: Any) -> dict[str, Any]:
    parameters = cls().get_params(deep=False)
    return {name: parameters[name] for name in cls.later_parameters}


def _read(path: Path) -> bytes:
    try:
        return read_capped(
            path,
            LARGEST_FILE,
            lambda _: ModelFileError(f"{path}: larger than {LARGEST_FILE} bytes; this is not a saved model"),
        )
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _check_payload(document: Any, content: bytes | None) -> dict[str, Any]:
    place = Place("the file", {})
    broken = SEAL.broken_key(document)
    if broken == "format":
        raise place.fail("is not a model saved by overread")
    if broken == "schema":
        raise ModelFileError(
            f"has schema {document.get('schema')!r}; this version of overread reads schema {SCHEMA}: "
            "save the model again with this version, or load it with the one that wrote it"
        )
    check_keys(document, {"format", "schema", "sha256", "payload"}, place)
    if broken is not None:
        raise place.fail("was changed after it was saved: the checksum does not match")
    if content is not None and SEAL.spell(document) != content:
        raise place.fail("was changed after it was saved: its spelling is not that of `save`")
    return check_keys(
        document["payload"], {"kind", "overread", "libraries", "parameters", "fitted"}, place.at("payload")
    )


def _restore(payload: dict[str, Any]) -> Any:
    place = Place("payload", {})
    kind = Text().decode(payload["kind"], place.at("kind"))
    if kind not in _KINDS:
        raise place.at("kind").fail(f"is {kind[:40]!r}, which is none of {sorted(_KINDS)}")
    cls: Any = _KINDS[kind]
    model = cls(**_decode_parameters(cls, payload["parameters"], place.at("parameters")))
    fitted = check_keys(payload["fitted"], cls.saved_fields, place.at("fitted"))
    for name, field in cls.saved_fields.items():
        if not (field.optional and fitted[name] is None):
            setattr(model, name, field.decode(fitted[name], place.at(f"fitted.{name}")))
    return model


def _decode_parameters(cls: Any, data: Any, place: Place) -> dict[str, Any]:
    defaults = _later_defaults(cls)
    given = set(data) if isinstance(data, dict) else set()
    parameters = check_keys(data, set(cls().get_params(deep=False)) - (set(defaults) - given), place)
    decoded = {name: decode_parameter(value, place.at(name)) for name, value in parameters.items()}
    for name in given & set(defaults):
        if decoded[name] == defaults[name]:
            raise place.at(name).fail("is the default, which `save` leaves out")
    return decoded

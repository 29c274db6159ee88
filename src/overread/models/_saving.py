"""Saving models as JSON, and loading only what is exactly what was saved.

A file is one JSON object::

    format    "overread-model"
    schema    version of this layout, an integer
    sha256    of the payload in canonical form: sorted keys, no spaces, ASCII
    payload   kind        name of the model's class
              overread    version of this package
              libraries   versions of what it ran on
              parameters  of the constructor; those in `_later_parameters` only where they are not the default
              fitted      attributes, each as its `Field` says

Numbers are written so that they come back bit by bit. No time and no machine is recorded: the same model gives
the same bytes. A file is refused unless it is, byte by byte, what `save` would write for what was read from it,
so that no changed bit goes unnoticed, not even one in the spelling of a number.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

import overread
import overread.models
from overread.errors import FormatError, InvalidInputError, ModelFileError, StorageError
from overread.files import Seal, from_json, parse_json, read_capped, to_json, write_atomically
from overread.models._penalties import PENALTIES, Penalty

SCHEMA = 1
SEAL = Seal({"format": "overread-model", "schema": SCHEMA})
LARGEST_FILE = 2**28
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
CLASS_KINDS = "biufU"

# Parameters, fitted attributes and members of certificates whose names in files are those of version 0.2.
FILE_NAMES = {
    "alpha": "lam",
    "alpha_": "lam_",
    "alpha_max": "lambda_max",
    "alpha_max_": "lambda_max_",
    "alphas": "lambdas",
    "alphas_": "lambdas_",
    "coef_path_": "coefs_",
    "intercept_path_": "intercepts_",
    "mean_": "center_",
    "n_alphas": "n_lambdas",
}
OLD_NAMES = {old: name for name, old in FILE_NAMES.items()}
# Of the relevance vector machine, whose precisions have always had this name.
SAME_NAMES = {("RVMMIL", "alpha_")}

_KINDS: dict[str, type[SavedModel]] = {}
# The kinds of this package, which are its names too: a file may be loaded before its class has been imported.
OWN_KINDS = (
    "BoostedBags", "DawidSkene", "RVMMIL", "RaykarCrowd", "ReaderMixture", "SoftMILLogisticRegression", "SoftMILPath"
)  # fmt: skip


def _file_name(name: str, kind: str) -> str:
    """Name in a file of this kind; models of other packages never had other names."""
    return name if kind not in OWN_KINDS or (kind, name) in SAME_NAMES else FILE_NAMES.get(name, name)


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    """Rename the members of a record, or of a list of them, in JSON."""
    if isinstance(value, dict):
        return {names.get(key, key): part for key, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_rename(item, names) for item in value]
    return value


class Field:
    """A fitted attribute in a file, of a type that `overread.files.from_json` reads.

    Lengths are numbers, or letters; a letter means the same number everywhere in one file, say d the number of
    features. Of a whole number, the letter stands for it. Members of records have the names of version 0.2 in files.
    """

    def __init__(self, type_: Any, *shape: str | int, optional: bool = False) -> None:
        self.type_ = type_
        self.shape = shape
        self.optional = optional

    def encode(self, value: Any) -> Any:
        """Plain JSON for a value, as it will be read."""
        read = from_json(self.type_, to_json(value, keep_nan=True))
        return _rename(to_json(read, keep_nan=True), FILE_NAMES)

    def decode(self, data: Any, place: str, lengths: dict[str, int]) -> Any:
        """Value for plain JSON, or `FormatError`; ``lengths`` are those that the letters have so far."""
        value = self._read(data, place)
        found = (value,) if self.type_ is int else np.shape(value)
        if self.shape and len(found) != len(self.shape) and not (len(found) < len(self.shape) and 0 in found):
            raise FormatError(f"{place}: is not a list of {len(self.shape)} dimensions")
        for size, wanted in zip(found, self.shape, strict=False):
            expected = lengths.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            if size != expected:
                raise FormatError(f"{place}: counts {size} items where there are {expected} elsewhere")
        return value

    def _read(self, data: Any, place: str) -> Any:
        return from_json(self.type_, _rename(data, OLD_NAMES), place)


class Names(Field):
    """Strings that differ, as scikit-learn's ``feature_names_in_``."""

    def __init__(self, length: str, *, optional: bool = False) -> None:
        super().__init__(NDArray[np.object_], length, optional=optional)

    def encode(self, value: Any) -> Any:
        return [str(name) for name in value]

    def _read(self, data: Any, place: str) -> Any:
        names = super()._read(data, place)
        if len(set(names.tolist())) != len(names):
            raise FormatError(f"{place}: holds a name twice")
        return names


@dataclass(frozen=True)
class _Labels:
    dtype: str
    values: list[Any]


class Classes(Field):
    """The two classes with their numpy type: integers, floats, booleans and strings come back as they were."""

    def __init__(self) -> None:
        super().__init__(_Labels)

    def encode(self, value: Any) -> Any:
        classes = np.asarray(value)
        is_text = classes.dtype == object and all(isinstance(label, str) for label in classes)
        if not is_text and (classes.dtype.kind not in CLASS_KINDS or classes.dtype == np.longdouble):
            raise InvalidInputError(f"classes of type {classes.dtype} cannot be saved; use numbers or text")
        return {"dtype": classes.dtype.str, "values": classes.tolist()}

    def _read(self, data: Any, place: str) -> NDArray[Any]:
        labels = super()._read(data, place)
        try:
            classes = np.array(labels.values, dtype=np.dtype(labels.dtype))
            if classes.shape == (2,):
                self.encode(classes)
                return classes
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{place}: cannot be read: {error}") from error
        raise FormatError(f"{place}: must hold two values")


# What models declare their fitted attributes with.
Float, Integer, Flag, Length = (
    partial(Field, float),
    partial(Field, int),
    partial(Field, bool),
    partial(Field, int),
)
FloatArray, IntegerArray = partial(Field, NDArray[np.float64]), partial(Field, NDArray[np.int64])

BAG_FIELDS: dict[str, Field] = {
    "n_features_in_": Length("d"),
    "feature_names_in_": Names("d", optional=True),
    "classes_": Classes(),
    "fitted_with_bags_": Flag(),
}
"""Fitted attributes of every model of bags."""

LINEAR_FIELDS: dict[str, Field] = {**BAG_FIELDS, "coef_": FloatArray(1, "d"), "intercept_": FloatArray(1)}
"""Fitted attributes of every linear model of bags."""


def name_as_in_files(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give parameters, or members of a certificate, the names that they have in files."""
    return {FILE_NAMES.get(name, name): value for name, value in values.items()}


def _check_keys(data: Any, wanted: Iterable[str], place: str) -> dict[str, Any]:
    """Return a JSON object that has exactly the wanted keys."""
    if not isinstance(data, dict):
        raise FormatError(f"{place}: {repr(data)[:40]} is not an object")
    for name in sorted(set(wanted) ^ data.keys()):
        raise FormatError(f"{place}.{name}: {'is not known' if name in data else 'is missing'}")
    return data


def encode_parameter(value: Any, name: str) -> Any:
    """Plain JSON for a constructor's parameter: nothing, a flag, a number, text, a list of these, or a penalty."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [encode_parameter(item, name) for item in value]
    if isinstance(value, Penalty) and PENALTIES.get(value.name) is type(value):
        return {
            "name": value.name,
            **{key: encode_parameter(part, name) for key, part in vars(value).items()},
        }
    raise InvalidInputError(
        f"the parameter {name} is a {type(value).__name__}, which a model file cannot hold: "
        "set it to a number, text or None (for random_state, to the seed in the fit report)"
    )


def decode_parameter(data: Any, place: str) -> Any:
    """Undo `encode_parameter`; tuples and arrays come back as lists."""
    if isinstance(data, list):
        return [decode_parameter(item, f"{place}[{i}]") for i, item in enumerate(data)]
    if data is None or isinstance(data, bool | int | float | str):
        return data
    cls: Any = PENALTIES.get(str(data.get("name")))
    if cls is None:
        raise FormatError(f"{place}: must be null, a flag, a number, text, a list of these, or a penalty")
    members = [member.name for member in fields(cls)]
    values = _check_keys(data, ["name", *members], place)
    try:
        return cls(**{key: decode_parameter(values[key], f"{place}.{key}") for key in members})
    except InvalidInputError as error:
        raise FormatError(f"{place}: is not a penalty: {error}") from error


class SavedModel:
    """Gives an estimator `save_model` and `load_model`; ``kind="..."`` in the class statement names it in files.

    A subclass lists its fitted attributes in ``_saved_fields``. One without a kind of its own cannot be saved,
    because loading would give back its parent.
    """

    _kind: ClassVar[str]
    # Parameters younger than the schema. They are left out at their default, so that a model that does without
    # them has the same bytes as before they were there, and its old files are read.
    _later_parameters: ClassVar[frozenset[str]] = frozenset()
    _saved_fields: ClassVar[Mapping[str, Field]]

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Refuse a parameter by the name that it had in version 0.2."""
        for name, old in FILE_NAMES.items():
            if old in parameters and getattr(cls, "_kind", "") in OWN_KINDS:
                raise InvalidInputError(
                    f"{cls.__name__}: the parameter {old} is called {name} since version 0.3"
                )
        return super().__new__(cls)

    def __init_subclass__(cls, *, kind: str | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if kind is None:
            return
        known = _KINDS.get(kind)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"models of the kind {kind!r} are already {known.__qualname__}")
        cls._kind = kind
        _KINDS[kind] = cls

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a JSON file, whole or not at all; see `overread.models._saving`."""
        return save_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of this class; predictions are bit by bit those of the saved one."""
        model = load_model(path)
        if not isinstance(model, cls):
            raise ModelFileError(f"{path}: holds a {type(model).__name__}, not a {cls.__name__}")
        return model


def save_model(model: SavedModel, path: str | Path) -> Path:
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
    """Bytes that `save_model` writes; the same model gives the same bytes."""
    return SEAL.spell(to_document(model))


def to_document(model: SavedModel) -> dict[str, Any]:
    """Turn a fitted model into the JSON object of its file, to be kept inside another file."""
    if _KINDS.get(getattr(type(model), "_kind", "")) is not type(model):
        if hasattr(model, "best_estimator_"):
            raise InvalidInputError(f"{type(model).__name__} is not saved itself: save its best_estimator_")
        raise InvalidInputError(
            f"{type(model).__name__} has no kind of its own to be saved as: "
            f'declare class {type(model).__name__}(..., kind="{type(model).__name__}")'
        )
    # Here, because workers that never save a model import this module, and scikit-learn is half of their start.
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    payload = {
        "kind": model._kind,
        "overread": overread.__version__,
        "libraries": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "parameters": _encode_parameters(model),
        "fitted": _encode_fitted(model),
    }
    try:
        return SEAL.close(payload)
    except ValueError as error:
        raise InvalidInputError(
            "the model holds NaN or infinity and cannot be saved; refit it on features of a usual scale"
        ) from error


def from_document(document: Any, name: str, content: bytes | None = None) -> Any:
    """Read a model from the JSON object of its file; ``name`` is the place for messages.

    Where ``content`` is given, the bytes of the file, they must be those that `save_model` writes.
    """
    try:
        return _restore(_check_payload(document, content))
    except RecursionError as error:
        raise ModelFileError(f"{name}: is nested too deeply to be a saved model") from error
    except InvalidInputError as error:
        raise ModelFileError(f"{name}: {error}") from error


def load_model(path: str | Path) -> Any:
    """Read a model of any kind from a JSON file.

    Raises
    ------
    ModelFileError
        If the file is damaged, of another schema, or of an unknown kind.
    StorageError
        If it cannot be opened.
    """
    try:
        content = read_capped(
            Path(path),
            LARGEST_FILE,
            lambda _: ModelFileError(f"{path}: larger than {LARGEST_FILE} bytes; this is not a saved model"),
        )
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    return from_document(parse_json(content, str(path), error=ModelFileError), str(path), content)


def _encode_parameters(model: Any) -> dict[str, Any]:
    defaults = type(model)().get_params(deep=False)
    parameters = model.get_params(deep=False)
    return {
        _file_name(name, model._kind): encode_parameter(parameters[name], name)
        for name in sorted(parameters, key=lambda name: _file_name(name, model._kind))
        if name not in model._later_parameters or parameters[name] != defaults[name]
    }


def _encode_fitted(model: SavedModel) -> dict[str, Any]:
    return {
        _file_name(name, model._kind): None
        if field.optional and not hasattr(model, name)
        else field.encode(getattr(model, name))
        for name, field in model._saved_fields.items()
    }


def _check_payload(document: Any, content: bytes | None) -> dict[str, Any]:
    broken = SEAL.broken_key(document)
    if broken == "format":
        raise ModelFileError("the file is not a model saved by overread")
    if broken == "schema":
        raise ModelFileError(
            f"has schema {document.get('schema')!r}; this version of overread reads schema {SCHEMA}: "
            "save the model again with this version, or load it with the one that wrote it"
        )
    _check_keys(document, ("format", "schema", "sha256", "payload"), "the file")
    if broken is not None:
        raise ModelFileError("the file was changed after it was saved: the checksum does not match")
    if content is not None and SEAL.spell(document) != content:
        raise ModelFileError(
            "the file was changed after it was saved: its spelling is not that of `save_model`"
        )
    return _check_keys(
        document["payload"], ("kind", "overread", "libraries", "parameters", "fitted"), "payload"
    )


def _restore(payload: dict[str, Any]) -> Any:
    kind = from_json(str, payload["kind"], "payload.kind")
    if kind in OWN_KINDS:
        getattr(overread.models, kind)
    if kind not in _KINDS:
        raise ModelFileError(
            f"payload.kind: is {kind[:40]!r}, which is none of {sorted({*_KINDS, *OWN_KINDS})}; a class of your own"
            " has to be imported before its file is loaded"
        )
    cls: Any = _KINDS[kind]
    model = _build(cls, payload["parameters"])
    members = {_file_name(name, kind): (name, field) for name, field in cls._saved_fields.items()}
    fitted = _check_keys(payload["fitted"], members, "payload.fitted")
    lengths: dict[str, int] = {}
    for key, (name, field) in members.items():
        if not (field.optional and fitted[key] is None):
            setattr(model, name, field.decode(fitted[key], f"payload.fitted.{key}", lengths))
    _compare("payload.parameters", payload["parameters"], _encode_parameters(model))
    _compare("payload.fitted", fitted, _encode_fitted(model))
    return model


def _build(cls: Any, data: Any) -> Any:
    """Make a model with the parameters of a file, which may lack later ones."""
    given = set(data) if isinstance(data, dict) else set()
    names = {_file_name(name, cls._kind): name for name in cls().get_params(deep=False)}
    later = {_file_name(name, cls._kind) for name in cls._later_parameters}
    parameters = _check_keys(data, set(names) - (later - given), "payload.parameters")
    return cls(
        **{
            names[key]: decode_parameter(value, f"payload.parameters.{key}")
            for key, value in parameters.items()
        }
    )


def _compare(place: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse what was read otherwise than it is written, such as 1 for 1.0, or a default that is left out."""
    for name, value in found.items():
        if name not in wanted:
            raise ModelFileError(f"{place}.{name}: is the default value, which `save_model` leaves out")
        if json.dumps(value) != json.dumps(wanted[name]):
            raise ModelFileError(
                f"{place}.{name}: {repr(value)[:40]} does not have the form that `save_model` writes"
            )

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

The kinds of value a saved model is made of: each turns into plain JSON and back, exactly, or is refused.

A model declares its fitted attributes as a mapping from name to `Field`. Decoding trusts nothing: a wrong type,
a wrong length or a missing item raises `ModelFileError` with the place in the file. Lengths are given as numbers
or as letters; a letter means the same number everywhere in one file, say d the number of features.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import overread
from overread.errors import InvalidInputError, ModelFileError, StorageError
from overread.files import Seal, parse_json, read_capped, write_atomically
from overread.models._penalties import PENALTIES, Penalty

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
# Of the relevance vector machine, whose precisions have always had this name.
SAME_NAMES = {("RVMMIL", "alpha_")}


def _file_name(name: str, kind: str = "") -> str:
    return name if (kind, name) in SAME_NAMES else FILE_NAMES.get(name, name)


@dataclass(frozen=True)
class Place:
    """Where in the file a value stands, and the lengths that the letters have been given so far."""

    path: str
    lengths: dict[str, int]

    def at(self, part: object) -> Place:
        """Return a place further inside."""
        return Place(f"{self.path}.{part}", self.lengths)

    def fail(self, problem: str) -> ModelFileError:
        """Return an error that names the place."""
        return ModelFileError(f"{self.path} {problem}")

    def check_length(self, found: int, wanted: str | int) -> None:
        """Compare a length with a number, or with what a letter stands for."""
        expected = self.lengths.setdefault(wanted, found) if isinstance(wanted, str) else wanted
        if found != expected:
            raise self.fail(f"counts {found} items where there are {expected} elsewhere")


class Field(Protocol):
    """A kind of value; `optional` says that the model may lack the attribute."""

    @property
    def optional(self) -> bool:
        """Whether the model may be without it."""

    def encode(self, value: Any) -> Any:
        """Plain JSON for a value."""

    def decode(self, data: Any, place: Place) -> Any:
        """Value for plain JSON, or `ModelFileError`."""


@dataclass(frozen=True)
class _Scalar:
    type_: ClassVar[type]
    optional: bool = False

    def encode(self, value: Any) -> Any:
        return self.type_(value)

    def decode(self, data: Any, place: Place) -> Any:
        if type(data) is not self.type_:
            raise place.fail(f"is {_show(data)}; it must be of type {self.type_.__name__}")
        return data


class Float(_Scalar):
    """A finite number with a fraction."""

    type_ = float


class Integer(_Scalar):
    """A whole number."""

    type_ = int


class Flag(_Scalar):
    """True or false."""

    type_ = bool


class Text(_Scalar):
    """A string."""

    type_ = str


@dataclass(frozen=True, init=False)
class _Array:
    """Array of one type and shape; each length is a number or a letter."""

    dtype: ClassVar[type]
    item: ClassVar[_Scalar]
    shape: tuple[str | int, ...]
    optional: bool = False

    def __init__(self, *shape: str | int, optional: bool = False) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "optional", optional)

    def encode(self, value: Any) -> Any:
        return np.asarray(value, dtype=self.dtype).tolist()

    def decode(self, data: Any, place: Place) -> NDArray[Any]:
        return np.array(self._items(data, self.shape, place), dtype=self.dtype)

    def _items(self, data: Any, shape: tuple[str | int, ...], place: Place) -> Any:
        if not shape:
            return self.item.decode(data, place)
        if not isinstance(data, list):
            raise place.fail(f"is {_show(data)}; it must be a list")
        place.check_length(len(data), shape[0])
        return [self._items(part, shape[1:], place.at(i)) for i, part in enumerate(data)]


class FloatArray(_Array):
    """Array of float64."""

    dtype = np.float64
    item = Float()


class IntegerArray(_Array):
    """Array of int64."""

    dtype = np.int64
    item = Integer()


@dataclass(frozen=True)
class Length:
    """A whole number that a letter stands for."""

    letter: str
    optional: bool = False

    def encode(self, value: Any) -> Any:
        """Whole number."""
        return int(value)

    def decode(self, data: Any, place: Place) -> int:
        """Whole number that agrees with every array of this length."""
        length: int = Integer().decode(data, place)
        place.check_length(length, self.letter)
        return length


@dataclass(frozen=True)
class Names:
    """Array of strings, as scikit-learn's ``feature_names_in_``."""

    length: str | int
    optional: bool = False

    def encode(self, value: Any) -> Any:
        """List of strings."""
        return [str(name) for name in value]

    def decode(self, data: Any, place: Place) -> NDArray[Any]:
        """Array of Python strings, all different."""
        if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
            raise place.fail("must be a list of strings")
        if len(set(data)) != len(data):
            raise place.fail("holds a name twice")
        place.check_length(len(data), self.length)
        return np.array(data, dtype=object)


@dataclass(frozen=True)
class Classes:
    """The two classes with their numpy type: integers, floats, booleans and strings come back as they were."""

    optional: bool = False

    def encode(self, value: Any) -> Any:
        """Type and values."""
        classes = np.asarray(value)
        is_text = classes.dtype == object and all(isinstance(label, str) for label in classes)
        if not is_text and (classes.dtype.kind not in CLASS_KINDS or classes.dtype == np.longdouble):
            raise InvalidInputError(f"classes of type {classes.dtype} cannot be saved; use numbers or text")
        return {"dtype": classes.dtype.str, "values": classes.tolist()}

    def decode(self, data: Any, place: Place) -> NDArray[Any]:
        """Array of two classes."""
        entries = check_keys(data, {"dtype", "values"}, place)
        values = entries["values"]
        if not isinstance(values, list) or len(values) != 2:
            raise place.fail("must hold two values")
        try:
            dtype = np.dtype(Text().decode(entries["dtype"], place.at("dtype")))
            classes = np.array(values, dtype=dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise place.fail(f"cannot be read: {error}") from error
        is_exact = classes.ndim == 1 and [type(v) for v in classes.tolist()] == [type(v) for v in values]
        if dtype.kind not in CLASS_KINDS + "O" or not is_exact or classes.tolist() != values:
            raise place.fail("holds values that are not of its type")
        if dtype.kind == "O" and not all(isinstance(value, str) for value in values):
            raise place.fail("holds objects that are not text")
        return classes


@dataclass(frozen=True)
class Record:
    """A frozen dataclass whose members are numbers, flags, text, or tuples of floats."""

    type_: type
    optional: bool = False

    def _members(self) -> dict[str, Field]:
        kinds: dict[Any, Field] = {
            float: Float(),
            int: Integer(),
            bool: Flag(),
            str: Text(),
            tuple[float, ...]: FloatArray("?"),
        }
        hints = get_type_hints(self.type_)
        return {member.name: kinds[hints[member.name]] for member in fields(self.type_)}

    def _defaults(self) -> dict[str, Any]:
        """Members that came after the first files were written, with what holds for these."""
        return {member.name: member.default for member in fields(self.type_) if member.default is not MISSING}

    def encode(self, value: Any) -> Any:
        """Object with one entry per member; none where it has its default, so that older files stay what they are."""
        later = self._defaults()
        return {
            _file_name(name): field.encode(getattr(value, name))
            for name, field in self._members().items()
            if name not in later or getattr(value, name) != later[name]
        }

    def decode(self, data: Any, place: Place) -> Any:
        """Record with every member given and no other; those with a default came later, and older files lack them."""
        members = {_file_name(name): (name, field) for name, field in self._members().items()}
        entries = check_keys({**self._defaults(), **data} if isinstance(data, dict) else data, members, place)
        values: dict[str, Any] = {}
        for key, (name, field) in members.items():
            value = field.decode(entries[key], Place(f"{place.path}.{key}", {}))
            values[name] = tuple(value.tolist()) if isinstance(value, np.ndarray) else value
        return self.type_(**values)


@dataclass(frozen=True)
class Records:
    """Tuple of records."""

    type_: type
    length: str | int
    optional: bool = False

    def encode(self, value: Any) -> Any:
        """List of mappings."""
        return [Record(self.type_).encode(record) for record in value]

    def decode(self, data: Any, place: Place) -> tuple[Any, ...]:
        """Tuple of records."""
        if not isinstance(data, list):
            raise place.fail("must be a list")
        place.check_length(len(data), self.length)
        return tuple(Record(self.type_).decode(record, place.at(i)) for i, record in enumerate(data))


BAG_FIELDS: dict[str, Field] = {
    "n_features_in_": Length("d"),
    "feature_names_in_": Names("d", optional=True),
    "classes_": Classes(),
    "fitted_with_bags_": Flag(),
}
"""Fitted attributes of every model of bags."""

LINEAR_FIELDS: dict[str, Field] = {**BAG_FIELDS, "coef_": FloatArray(1, "d"), "intercept_": FloatArray(1)}
"""Fitted attributes of every linear model of bags."""


def check_keys(data: Any, wanted: Mapping[str, Any] | set[str], place: Place) -> dict[str, Any]:
    """Return a JSON object that has exactly the wanted keys."""
    if not isinstance(data, dict):
        raise place.fail(f"is {_show(data)}; it must be an object")
    missing, extra = sorted(set(wanted) - set(data)), sorted(set(data) - set(wanted))
    if missing or extra:
        problems = [f"lacks {missing[:5]}"] * bool(missing) + [f"has the unknown {extra[:5]}"] * bool(extra)
        raise place.fail(" and ".join(problems))
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


def decode_parameter(data: Any, place: Place) -> Any:
    """Undo `encode_parameter`; tuples and arrays come back as lists."""
    if isinstance(data, list):
        return [decode_parameter(item, place.at(i)) for i, item in enumerate(data)]
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, dict) and str(data.get("name")) in PENALTIES:
        return _decode_penalty(data, place)
    raise place.fail("must be null, a flag, a number, text, or a list of these")


def _decode_penalty(data: dict[str, Any], place: Place) -> Penalty:
    cls: Any = PENALTIES[str(data["name"])]
    values = check_keys(data, {"name"} | {member.name for member in fields(cls)}, place)
    try:
        return cls(
            **{key: decode_parameter(part, place.at(key)) for key, part in values.items() if key != "name"}
        )
    except InvalidInputError as error:
        raise place.fail(f"is no penalty: {error}") from error


def _show(data: Any) -> str:
    shown = repr(data)
    return shown if len(shown) <= 40 else shown[:37] + "..."


SCHEMA = 1
SEAL = Seal({"format": "overread-model", "schema": SCHEMA})
LARGEST_FILE = 2**28
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")

_KINDS: dict[str, type[SavedModel]] = {}


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
            if old in parameters:
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


def load_model(path: str | Path) -> Any:
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
        "kind": model._kind,
        "overread": overread.__version__,
        "libraries": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "parameters": {
            _file_name(name): encode_parameter(parameters[name], name)
            for name in sorted(parameters, key=_file_name)
            if name not in defaults or parameters[name] != defaults[name]
        },
        "fitted": {
            _file_name(name, model._kind): None
            if field.optional and not hasattr(model, name)
            else field.encode(getattr(model, name))
            for name, field in model._saved_fields.items()
        },
    }


def _later_defaults(cls: Any) -> dict[str, Any]:
    parameters = cls().get_params(deep=False)
    return {name: parameters[name] for name in cls._later_parameters}


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
        raise place.fail("was changed after it was saved: its spelling is not that of `save_model`")
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
    members = {_file_name(name, kind): (name, field) for name, field in cls._saved_fields.items()}
    fitted = check_keys(payload["fitted"], members, place.at("fitted"))
    for key, (name, field) in members.items():
        if not (field.optional and fitted[key] is None):
            setattr(model, name, field.decode(fitted[key], place.at(f"fitted.{key}")))
    return model


def _decode_parameters(cls: Any, data: Any, place: Place) -> dict[str, Any]:
    defaults = _later_defaults(cls)
    given = set(data) if isinstance(data, dict) else set()
    names = {_file_name(name): name for name in cls().get_params(deep=False)}
    parameters = check_keys(data, set(names) - (set(defaults) - given), place)
    decoded = {names[key]: decode_parameter(value, place.at(key)) for key, value in parameters.items()}
    for name in given & set(defaults):
        if decoded[name] == defaults[name]:
            raise place.at(name).fail("is the default, which `save_model` leaves out")
    return decoded

"""A run is a list of stages: each says what it reads, what it writes and which settings it depends on.

A stage sees what it declared and nothing else, so that a forgotten dependency is an error at once, not a stale
result later. Three kinds of things can be read, all by name:

- a *source*: something the study brings, with a digest of its bytes (``"input/marks"``);
- a *file* of the run that an earlier stage wrote (``"tables/truth.parquet"``), decoded by its place and ending;
- a *view*: a value made of other things that can be read, kept in memory for the run and never written
  (``"cohort"``).

A stage is done again when the bytes of anything it reads, or a setting it depends on, have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, TypeAlias, cast

from overread.files import digest_of_value, from_json, to_json
from overread.report import Pictures, RunHead, StudyResults
from overread.study._settings import leave_out_unused
from overread.study._store import Content, RunFolder, decode_file, encode_file

if TYPE_CHECKING:
    from overread.study._settings import Settings


Made: TypeAlias = Mapping[str, object]
"""What a stage gives: the content of each of its files."""


RECORDS: dict[str, type[object]] = {
    "results.json": StudyResults,
    "pictures.json": Pictures,
    "head.json": RunHead,
}
"""Files that hold one record; stages give and get the record itself, and it is not read back in the run."""


class UndeclaredError(LookupError):
    """A stage asked for something that it did not declare; a mistake in the code, never of the user."""


@dataclass(frozen=True)
class StageSource:
    """Something that the study brings, and its digest."""

    digest: str
    value: object


@dataclass(frozen=True)
class Inputs(Mapping[str, Any]):
    """Declared inputs and settings of a stage; inputs are loaded on first use.

    Parameters
    ----------
    reader
        Name of the stage or view, for messages.
    declared
        Names it may ask for.
    load
        Gives the value of a name.
    settings
        Settings of which only the declared sections and keys can be read.
    """

    reader: str
    declared: tuple[str, ...]
    load: Callable[[str], object]
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        if name not in self.declared:
            raise UndeclaredError(f"{self.reader} reads {name!r} without declaring it")
        return self.load(name)

    def __contains__(self, name: object) -> bool:
        return name in self.declared

    def __iter__(self) -> Iterator[str]:
        return iter(self.declared)

    def __len__(self) -> int:
        return len(self.declared)


@dataclass(frozen=True)
class Stage:
    """A step of a run.

    Parameters
    ----------
    name
        Name of the stage and of its record in the run folder.
    reads, writes
        Names of what it reads; files of the run that it writes.
    settings
        Sections (``"merging"``) and keys (``"evaluation.level"``) that it depends on.
    make
        Gives the content of each file: tables, models, plain values, text, bytes, blocks of bytes, or a function that
        fills the file.
    resumes
        Whether the stage keeps its own record of what is done, item by item, and writes its files itself. It is
        called in every run, and gives nothing where nothing was to be done.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    make: Callable[[Inputs], Made]
    settings: tuple[str, ...] = ()
    resumes: bool = False


@dataclass(frozen=True)
class View:
    """A value that stages share, made once a run.

    ``key`` gives the plain value that stages depend on (None: on all that it was made from); ``means`` are settings
    that it sees though its value does not depend on them: how much memory there is.
    """

    name: str
    reads: tuple[str, ...]
    make: Callable[[Inputs], object]
    settings: tuple[str, ...] = ()
    key: Callable[[Any], object] | None = None
    means: tuple[str, ...] = ()


class Workspace:
    """What can be read in a run by name; everything is loaded once, and kept until it is released."""

    def __init__(
        self,
        folder: RunFolder,
        settings: Settings,
        sources: Mapping[str, StageSource],
        views: Iterable[View] = (),
    ) -> None:
        self._folder, self._settings = folder, settings
        self._sources = dict(sources)
        self._views = {view.name: view for view in views}
        self._values: dict[str, object] = {}
        self._digests: dict[str, str] = {}

    def load(self, name: str) -> Any:
        """Return the value of a source, a file or a view."""
        if name not in self._values:
            self._values[name] = self._loaded(name)
        return self._values[name]

    def digest(self, name: str) -> str:
        """Return what stages that read a name depend on."""
        if name not in self._digests:
            self._digests[name] = self._digest(name)
        return self._digests[name]

    def inputs(self, reader: Stage | View) -> Inputs:
        """Return what a stage or a view declared."""
        seen = (*reader.settings, *(reader.means if isinstance(reader, View) else ()))
        return Inputs(reader.name, reader.reads, self.load, select_settings(self._settings, seen))

    def run(self, stage: Stage) -> bool:
        """Do a stage unless it is done and still holds; return whether there was anything to do."""
        records: dict[str, object] = {}

        def make() -> Mapping[str, Content]:
            made = stage.make(self.inputs(stage))
            records.update({name: value for name, value in made.items() if name in RECORDS})
            return {
                name: encode_file(
                    name, to_json(value) if name in RECORDS else value, self._settings.units.unit
                )
                for name, value in made.items()
            }

        if stage.resumes:
            done = bool(stage.make(self.inputs(stage)))
        else:
            done = self._folder.stage(stage.name, needs=self._needs(stage), gives=stage.writes, make=make)
        if done:
            self._forget(stage.writes)
            self._values |= records
        return done

    def release(self, stages: Iterable[Stage]) -> None:
        """Drop the values that none of the stages to come reads; files and digests stay."""
        wanted: set[str] = set()
        waiting = [name for stage in stages for name in stage.reads]
        while waiting:
            name = waiting.pop()
            # A view that is made already does not need again what it was made of.
            if name not in wanted and name in self._views and name not in self._values:
                waiting += self._views[name].reads
            wanted.add(name)
        self._values = {name: value for name, value in self._values.items() if name in wanted}

    def _loaded(self, name: str) -> object:
        if name in self._sources:
            return self._sources[name].value
        if name in self._views:
            return self._views[name].make(self.inputs(self._views[name]))
        value = decode_file(self._folder.readable(name))
        return from_json(RECORDS[name], value, name) if name in RECORDS else value

    def _digest(self, name: str) -> str:
        if name in self._sources:
            return self._sources[name].digest
        if name not in self._views:
            return self._folder.digest(name)
        view = self._views[name]
        return digest_of_value(self._needs(view) if view.key is None else view.key(self.load(name)))

    def _needs(self, reader: Stage | View) -> dict[str, object]:
        return {
            "reads": {name: self.digest(name) for name in reader.reads},
            "settings": {name: plain_setting(self._settings, name) for name in reader.settings},
        }

    def _forget(self, written: Iterable[str]) -> None:
        """Drop what was loaded of files that were written again, and every view derived from them."""
        stale = set(written)
        while more := {view.name for view in self._views.values() if stale & {*view.reads}} - stale:
            stale |= more
        for name in stale:
            self._values.pop(name, None)
            self._digests.pop(name, None)


def select_settings(settings: Settings, names: Iterable[str]) -> Settings:
    """Return settings of which only the named sections (``"hits"``) and keys (``"evaluation.level"``) can be read."""
    keys: dict[str, set[str]] = {}
    for name in names:
        section, _, key = name.partition(".")
        keys.setdefault(section, set()).add(key)
    selected = {
        section: value if "" in own else _Declared({key: getattr(value, key) for key in own})
        for section, own in keys.items()
        for value in [getattr(settings, section)]
    }
    # The stand-in has the attributes of the settings, so a type checker knows what a stage reads.
    return cast("Settings", _Declared(selected))


class _Declared:
    """Some attributes; asking for another is a mistake of the stage that does."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Never:
        raise UndeclaredError(f"the stage reads the setting {name!r} without declaring it")


def plain_setting(settings: Settings, name: str) -> object:
    """Return a section or key as a plain value; None where it is not used."""
    value: Any = leave_out_unused(settings.to_plain())
    for part in name.split("."):
        value = None if value is None else value.get(part)
    return value

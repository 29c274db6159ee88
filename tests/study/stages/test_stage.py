"""A stage sees what it declared and nothing else, and is done again exactly when that has changed."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.files import digest_of_value, encode_columns, fill_columns
from overread.study import Inputs, Settings, Stage, parse_settings
from overread.study._store import RunFolder, encode_file
from overread.study.stages.stage import StageSource, UndeclaredError, View, Workspace, select_settings
from study_chain import Chain, call_alone


@pytest.fixture
def workspace(folder: RunFolder) -> Callable[..., Workspace]:
    """Make a workspace of the same folder: what another run would have."""

    def make(views: tuple[View, ...] = (), *, settings: Settings | None = None, **values: Any) -> Workspace:
        sources = {f"input/{name}": StageSource(digest_of_value(v), v) for name, v in values.items()}
        return Workspace(folder, settings or Settings(), sources, views)

    return make


def double(inputs: Inputs) -> dict[str, Any]:
    return {"double.json": [2 * number for number in inputs["input/numbers"]]}


DOUBLE = Stage("double", reads=("input/numbers",), writes=("double.json",), make=double)


class TestWhatIsNotDeclared:
    def test_something_to_read(self, workspace: Callable[..., Workspace]) -> None:
        sly = Stage("sly", reads=("input/a",), writes=("x.json",), make=lambda given: given["input/b"])
        with pytest.raises(UndeclaredError, match="sly reads 'input/b' without declaring it"):
            workspace(a=1, b=2).run(sly)

    def test_nor_by_the_ways_round_it(self) -> None:
        inputs = Inputs("sly", ("a",), {"a": 1, "b": 2}.__getitem__, None)
        assert dict(inputs) == {"a": 1}
        assert "b" not in inputs
        with pytest.raises(UndeclaredError):
            inputs.get("b")

    @pytest.mark.parametrize(
        "ask", [lambda s: s.evaluation, lambda s: s.hits.margin, lambda s: s.to_plain(), lambda s: s.seed]
    )
    def test_a_setting(self, ask: Callable[[Any], Any]) -> None:
        declared = select_settings(Settings(), ("merging", "hits.rule", "soft.pick"))
        assert declared.merging == Settings().merging
        assert (declared.hits.rule, declared.soft.pick) == ("hit", "sparsest")
        with pytest.raises(UndeclaredError, match="without declaring it"):
            ask(declared)

    def test_a_view_of_a_view(self, workspace: Callable[..., Workspace]) -> None:
        outer = View("outer", reads=("input/a",), make=lambda given: given["inner"])
        inner = View("inner", reads=("input/a",), make=lambda given: given["input/a"])
        with pytest.raises(UndeclaredError, match="outer reads 'inner'"):
            workspace((outer, inner), a=1).load("outer")

    def test_a_key_of_a_model_s_section(self) -> None:
        with pytest.raises(AttributeError):
            select_settings(Settings(), ("soft.no_such_key",))


class TestViews:
    @pytest.fixture
    def made(self) -> list[str]:
        return []

    @pytest.fixture
    def views(self, made: list[str]) -> tuple[View, ...]:
        def count(name: str, value: Callable[[Inputs], Any]) -> Callable[[Inputs], Any]:
            return lambda inputs: (made.append(name), value(inputs))[1]

        return (
            View("total", ("double.json",), count("total", lambda given: sum(given["double.json"]))),
            View("sign", ("total",), count("sign", lambda given: given["total"] > 0), key=bool),
            View("aside", ("input/other",), count("aside", lambda given: given["input/other"])),
        )

    def test_they_are_made_once(self, workspace: Any, views: Any, made: list[str]) -> None:
        space = workspace(views, numbers=[1, 2], other=0)
        space.run(DOUBLE)
        readers = [
            Stage(f"s{i}", ("total", "sign", "aside"), (f"s{i}.json",), partial_write(f"s{i}.json"))
            for i in range(3)
        ]
        for stage in readers:
            assert space.run(stage)
        assert Counter(made) == {"total": 1, "sign": 1, "aside": 1}

    def test_they_are_dropped_with_what_they_are_made_of(
        self, workspace: Any, views: Any, made: list[str], folder: RunFolder
    ) -> None:
        space = workspace(views, numbers=[1, 2], other=0)
        space.run(DOUBLE)
        assert (space.load("total"), space.load("sign"), space.load("aside")) == (6, True, 0)
        other = replace(DOUBLE, name="negative", make=lambda given: {"double.json": [-4]})
        assert space.run(other)
        assert (space.load("total"), space.load("sign"), space.load("aside")) == (-4, False, 0)
        assert Counter(made) == {"total": 2, "sign": 2, "aside": 1}

    def test_a_key_is_all_that_readers_depend_on(self, workspace: Any, views: Any) -> None:
        by_sign = Stage("by_sign", ("sign",), ("a.json",), partial_write("a.json"))
        by_total = Stage("by_total", ("total",), ("b.json",), partial_write("b.json"))
        done = []
        for numbers in ([1, 2], [1, 3], [-9]):
            space = workspace(views, numbers=numbers, other=0)
            done.append([space.run(stage) for stage in (DOUBLE, by_sign, by_total)])
        assert done == [[True, True, True], [True, False, True], [True, True, True]]

    def test_settings_of_a_view_are_settings_of_its_readers(self, workspace: Any) -> None:
        view = View("seeded", (), lambda given: given.settings.seed, settings=("seed",))
        reader = Stage("reader", ("seeded",), ("a.json",), partial_write("a.json"))
        runs = [workspace((view,), settings=parse_settings({"seed": seed})) for seed in (1, 1, 2)]
        assert [space.run(reader) for space in runs] == [True, False, True]


def partial_write(relative: str) -> Callable[[Inputs], dict[str, Any]]:
    """Write all that is declared; views become text."""
    return lambda inputs: {relative: {name: repr(inputs[name]) for name in inputs}}


class TestWhenAStageIsDone:
    def test_again_for_another_source(self, workspace: Any) -> None:
        workspace(numbers=[1]).run(DOUBLE)
        assert workspace(numbers=[3]).run(DOUBLE)
        assert workspace(numbers=[3]).load("double.json") == [6]

    def test_again_for_a_byte_of_a_file_that_it_reads(self, workspace: Any, folder: RunFolder) -> None:
        reader = Stage("reader", ("double.json",), ("a.json",), partial_write("a.json"))
        for stage in (DOUBLE, reader):
            workspace(numbers=[1]).run(stage)
        path = folder.path("double.json")
        path.write_bytes(path.read_bytes() + b" ")
        assert workspace(numbers=[1]).run(reader)
        assert not workspace(numbers=[1]).run(reader)

    @pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("[3]")])
    def test_again_for_a_file_of_its_own_that_is_gone_or_changed(
        self, workspace: Any, folder: RunFolder, damage: Callable[[Path], None]
    ) -> None:
        workspace(numbers=[1]).run(DOUBLE)
        damage(folder.path("double.json"))
        space = workspace(numbers=[1])
        assert space.run(DOUBLE)
        assert space.load("double.json") == [2]

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"hits": {"margin": 1.0}}, True),
            ({"evaluation": {"level": 0.9}}, True),
            ({"soft": {"pick": "best"}}, True),
            ({"evaluation": {"n_bootstrap": 107}}, False),
            ({"soft": {"tolerance": 0.5}}, False),
            ({"seed": 5}, False),
            ({"models": {"folds": 3}}, False),
        ],
    )
    def test_again_for_a_declared_setting_and_no_other(
        self, workspace: Any, changes: dict[str, Any], expected: bool
    ) -> None:
        declared = ("hits", "evaluation.level", "soft.pick")
        stage = Stage("s", (), ("a.json",), lambda given: {"a.json": 1}, settings=declared)
        workspace().run(stage)
        assert workspace(settings=parse_settings(changes)).run(stage) is expected

    def test_the_same_content_leaves_readers_alone(self, workspace: Any) -> None:
        absolute = replace(
            DOUBLE, make=lambda given: {"double.json": [abs(n) for n in given["input/numbers"]]}
        )
        reader = Stage("reader", ("double.json",), ("a.json",), partial_write("a.json"))
        for stage in (absolute, reader):
            workspace(numbers=[1]).run(stage)
        space = workspace(numbers=[-1])
        assert [space.run(stage) for stage in (absolute, reader)] == [True, False]

    def test_a_stage_that_resumes_is_always_called(self, workspace: Any) -> None:
        answers = iter([{"a.json": 1}, {}])
        stage = Stage("s", (), ("a.json",), lambda given: next(answers), resumes=True)
        space = workspace()
        assert [space.run(stage), space.run(stage)] == [True, False]

    def test_a_stage_that_fails_is_not_done(self, workspace: Any, folder: RunFolder) -> None:
        with pytest.raises(ZeroDivisionError):
            workspace(numbers=[1]).run(replace(DOUBLE, make=lambda given: 1 // 0))
        assert not folder.path("stages/double.json").exists()
        assert workspace(numbers=[1]).run(DOUBLE)


class TestWhatAStageWrites:
    @pytest.mark.parametrize("made", [{}, {"b.json": 1}, {"double.json": 1, "b.json": 1}])
    def test_exactly_what_it_said(self, workspace: Any, folder: RunFolder, made: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="stage double gave"):
            workspace(numbers=[1]).run(replace(DOUBLE, make=lambda given: made))
        assert not folder.path("double.json").exists()

    def test_files_in_blocks(self, workspace: Any, folder: RunFolder) -> None:
        matrix = np.arange(12, dtype=np.float64).reshape(4, 3)
        taken = []

        def columns() -> Iterator[np.ndarray]:
            for column in matrix.T:
                taken.append(len(list(folder.root.glob("m.npy"))))
                yield column

        def make(inputs: Inputs) -> dict[str, Any]:
            return {"m.npy": encode_columns(columns(), 4, 3, matrix.dtype)}

        space = workspace()
        assert space.run(Stage("matrix", (), ("m.npy",), make))
        assert np.array_equal(np.load(folder.path("m.npy")), matrix)
        assert taken == [0, 0, 0]  # nothing was in place before all was there
        assert np.array_equal(space.load("m.npy").take(np.arange(4)), matrix)
        record = json.loads(folder.path("stages/matrix.json").read_text())
        assert record["files"] == {"m.npy": folder.digest("m.npy")}

    def test_a_file_that_is_filled_in_any_order(self, workspace: Any, folder: RunFolder) -> None:
        matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
        fill = partial(
            fill_columns,
            blocks=[matrix[:1], matrix[1:]],
            n_rows=4,
            n_columns=3,
            dtype=matrix.dtype,
            name="m.npy",
        )
        space = workspace()
        assert space.run(Stage("matrix", (), ("m.npy",), lambda given: {"m.npy": fill}))
        assert np.array_equal(np.load(folder.path("m.npy")), matrix)
        assert not space.run(Stage("matrix", (), ("m.npy",), lambda given: {}))


class TestEveryStageOfARun:
    def test_names_and_files_are_its_own(self, chain: Chain) -> None:
        files = [name for stage in chain.stages.values() for name in stage.writes]
        assert len(set(files)) == len(files)
        assert chain.done == [name for name in chain.stages if name in chain.done]
        assert set(chain.done) == set(chain.stages)

    def test_what_a_stage_reads_was_written_before(self, chain: Chain) -> None:
        written: set[str] = set()
        for stage in chain.stages.values():
            files = {name for name in stage.reads if "/" in name or "." in name} - set(chain.inputs.sources())
            assert {name for name in files if not name.startswith("chosen/")} <= written
            written |= set(stage.writes)

    def test_it_gives_the_same_bytes_when_called_alone(self, chain: Chain, folder: RunFolder) -> None:
        for stage in chain.stages.values():
            if stage.resumes or stage.name == "results":  # test_images and test_evaluation have these
                continue
            for relative, value in call_alone(stage, chain.values(stage), chain.settings).items():
                digest = folder.write(relative, encode_file(relative, value))
                assert digest == chain.folder.digest(relative), (stage.name, relative)

    def test_nothing_is_left_to_do(self, chain: Chain) -> None:
        for stage in chain.stages.values():
            assert not chain.workspace.run(stage), stage.name


class TestRelease:
    def test_what_no_later_stage_reads_is_dropped(self, workspace: Any) -> None:
        made: Counter[str] = Counter()

        def count(name: str) -> Callable[[Inputs], Any]:
            def make(inputs: Inputs) -> Any:
                made[name] += 1
                return [inputs[other] for other in inputs]

            return make

        near = View("near", reads=("input/numbers",), make=count("near"))
        far = View("far", reads=("near",), make=count("far"))
        space = workspace((near, far), numbers=[1])
        space.run(DOUBLE)
        reader = Stage("reader", reads=("far",), writes=(), make=lambda given: {})
        space.load("double.json")
        assert space.load("near") is space.load("near")
        space.release([reader])
        space.load("far")
        assert made == {"near": 1, "far": 1}, "a view to come keeps what it is made of"
        space.release([reader])
        space.load("near")
        space.load("far")
        assert made == {"near": 2, "far": 1}, "a view that is made needs it no longer"
        space.release([])
        space.load("far")
        assert made["far"] == 2
        assert space.load("double.json") == [2], "a file is read again"


def test_means_are_seen_and_change_nothing(workspace: Any) -> None:
    view = View(
        "memory",
        reads=(),
        make=lambda given: given.settings.execution.memory_mb,
        means=("execution.memory_mb",),
    )
    spaces = [
        workspace((view,), settings=parse_settings({"execution": {"memory_mb": size}})) for size in (10, 20)
    ]
    assert [space.load("memory") for space in spaces] == [10, 20]
    assert len({space.digest("memory") for space in spaces}) == 1

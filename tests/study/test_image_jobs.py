"""Which images are worked on: those whose file, spacing, candidates or versions changed, and no others."""

from typing import Any

import pandas as pd
import pytest

from overread.domains import ImageTask
from overread.errors import OverreadError
from overread.files import FileDigests
from overread.study._image_jobs import make_tasks, work_on_images
from overread.study._pipeline import Versions
from overread.study._store import Entry, RunFolder
from overread.study.executors._worker import Fault, Outcome, work_on
from progress_record import NotedProgress
from study_chain import Chain
from study_stand_in import spec


class Scripted:
    """Gives shards, or the faults that it was told to give: one list of them an image."""

    def __init__(self, options: dict[str, str] | None = None, **faults: list[Fault]) -> None:
        self.faults, self.worked = faults, []
        self.pipeline = spec(**(options or {})).build()

    def work(self, tasks: Any, *, alone: bool = False) -> Any:
        for task in tasks:
            self.worked.append((task.image_id, alone, task.candidates is not None))
            waiting = self.faults.get(task.image_id.replace(" ", "_"), [])
            if waiting:
                yield Outcome(task.image_id, fault=waiting.pop(0))
            else:
                yield work_on(self.pipeline, task)

    def close(self) -> None:
        return


def find_tasks(
    chain: Chain, folder: RunFolder, n_images: int = 3, given: Any = None, **options: Any
) -> tuple[list[ImageTask], dict[str, Fault]]:
    images = options.pop("images", chain.inputs.images.head(n_images))
    digests = FileDigests(folder.path("file_digests.json"))
    return make_tasks(images, chain.study, digests, spec(**options).build(), given)


def tasks_of(*given: Any, **options: Any) -> list[ImageTask]:
    tasks, faults = find_tasks(*given, **options)
    assert not faults
    return tasks


def work(
    chain: Chain,
    folder: RunFolder,
    executor: Scripted,
    n_images: int = 3,
    say: Any = lambda text: None,
    **options: Any,
) -> tuple[dict[str, Entry], int]:
    found = find_tasks(chain, folder, n_images, **options)
    return work_on_images(folder, *found, executor, Versions.of(spec(**options).build()), say=say)


DEATH = Fault("death", "killed")
USELESS = Fault("image", "no image")


class TestKeys:
    def test_the_same_study_has_the_same_tasks(self, chain: Chain, folder: RunFolder) -> None:
        assert tasks_of(chain, folder) == tasks_of(chain, folder)

    @pytest.mark.parametrize(
        ("options", "candidates", "features"),
        [
            ({"feature_version": "f2"}, True, False),
            ({"candidate_version": "c2"}, False, False),
            ({"limit": 5}, False, False),
        ],
    )
    def test_versions(
        self, chain: Chain, folder: RunFolder, options: dict[str, Any], candidates: bool, features: bool
    ) -> None:
        for one, two in zip(tasks_of(chain, folder), tasks_of(chain, folder, **options), strict=True):
            assert (one.candidates_key == two.candidates_key) is candidates
            assert (one.features_key == two.features_key) is features

    def test_a_spacing_is_of_its_image_alone(self, chain: Chain, folder: RunFolder) -> None:
        images = chain.inputs.images.head(3).copy()
        images.loc[1, "mm_per_px_x"] = 2.5
        pairs = zip(tasks_of(chain, folder), tasks_of(chain, folder, images=images), strict=True)
        assert [one.candidates_key == two.candidates_key for one, two in pairs] == [True, False, True]

    def test_without_a_spacing_the_file_has_to_say(self, chain: Chain, folder: RunFolder) -> None:
        images = chain.inputs.images.head(2).drop(columns=["mm_per_px_x", "mm_per_px_y"])
        assert [task.mm_per_px for task in tasks_of(chain, folder, images=images)] == [None, None]

    def test_own_candidates_take_the_place_of_the_version(self, chain: Chain, folder: RunFolder) -> None:
        own = chain.load("tables/candidates.parquet").query("image_id == 'case 000'").drop(columns="image_id")
        tasks = tasks_of(chain, folder, given={"case 000": own})
        assert [len(task.candidates) for task in tasks] == [len(own), 0, 0]
        other = tasks_of(
            chain, folder, given={"case 000": own.assign(x=own["x"] + 1)}, candidate_version="c2"
        )
        pairs = zip(tasks, other, strict=True)
        assert [one.candidates_key == two.candidates_key for one, two in pairs] == [False, True, True]

    def test_a_file_that_is_not_there(self, chain: Chain, folder: RunFolder) -> None:
        images = chain.inputs.images.head(2).assign(path=["images/000.png", "images/Mustermann.png"])
        (good, bad), faults = find_tasks(chain, folder, images=images)
        assert list(faults) == [bad.image_id]
        assert "Mustermann" not in faults[bad.image_id].reason
        assert (good.sha256 is None, bad.sha256 is None) == (False, True)


class TestWork:
    def test_all_then_none(self, chain: Chain, folder: RunFolder) -> None:
        first, second = Scripted(), Scripted()
        with NotedProgress() as progress:
            assert work(chain, folder, first)[1] == 3
            assert progress.totals == progress.done == {"images": 3}
            assert work(chain, folder, second)[1] == 0
            assert progress.totals == {"images": 0}
        assert len(first.worked) == 3
        assert second.worked == []

    def test_a_failed_image_is_tried_once_more_alone_at_the_end(
        self, chain: Chain, folder: RunFolder
    ) -> None:
        executor, said = Scripted(case_000=[DEATH]), []
        entries, _ = work(chain, folder, executor, say=said.append)
        assert [name for name, alone, _ in executor.worked if alone] == ["case 000"]
        assert executor.worked[-1][0] == "case 000"
        assert all(entry.sha256 for entry in entries.values())
        assert said == ["image 'case 000': killed; will be tried again"]

    @pytest.mark.parametrize(("fault", "is_final"), [(USELESS, True), (DEATH, False)])
    def test_a_fault_of_the_image_is_final_others_get_a_chance_in_the_next_run(
        self, chain: Chain, folder: RunFolder, fault: Fault, is_final: bool
    ) -> None:
        entries, _ = work(chain, folder, Scripted(case_001=[fault, fault]))
        assert entries["case 001"].fault_kind == fault.kind
        again = Scripted()
        work(chain, folder, again)
        assert bool(again.worked) is not is_final

    def test_known_candidates_are_handed_on_where_only_features_changed(
        self, chain: Chain, folder: RunFolder
    ) -> None:
        work(chain, folder, Scripted())
        for options, known in (({"feature_version": "f2"}, True), ({"candidate_version": "c2"}, False)):
            executor = Scripted(options)
            work(chain, folder, executor, **options)
            assert [has for _, _, has in executor.worked] == [known] * 3

    def test_a_pipeline_that_only_fails_stops_the_run(self, chain: Chain, folder: RunFolder) -> None:
        faults = {f"case_{number:03d}": [Fault("failure", "TypeError")] for number in range(12)}
        with pytest.raises(OverreadError, match="the first 10 images all failed, the last with: TypeError"):
            work(chain, folder, Scripted(**faults), 12)

    def test_useless_images_alone_do_not(self, chain: Chain, folder: RunFolder) -> None:
        faults = {f"case_{number:03d}": [USELESS, USELESS] for number in range(11)}
        entries, _ = work(chain, folder, Scripted(**faults), 12)
        assert [bool(entry.sha256) for entry in entries.values()] == [False] * 11 + [True]


def test_a_task_is_equal_to_itself_without_its_table() -> None:
    table = pd.DataFrame({"candidate_id": ["a"]})
    assert ImageTask("a", "b", None, table) == ImageTask("a", "b", None, None)

"""``overread demo-read``: a reading room of phantoms with three readers and a detector, ready to try."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from overread.reading.room import Room

__all__ = ["demo_read"]

READERS = ("Anna", "Ben", "Cleo")
CHAIR = "Chair"
TRAINING_IMAGES = 3
# Another cohort than the one that the demo's detector was trained on.
SEED, TRAINING_SEED = 1001, 1002


def demo_read(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("demo-reading"),
    n_images: int = 12,
    detector: Path = Path("demo-output/runs/main"),
    host: str = "127.0.0.1",
    port: int = 8765,
) -> None:
    """Open a reading room of simulated images: three readers' links, a chair's, the owner's, and a detector.

    Nothing is downloaded. Given again it goes on with the same readings, and with new links.

    Parameters
    ----------
    output
        Folder of the study.
    n_images
        Images to read; three more come first, with feedback.
    detector
        Second reader: the run or detector.json of overread demo, which is run first where it is not there.
    host
        Address of this machine to listen at.
    port
        To listen at; 0: any that is free.
    """
    from overread.cli.conventions import print_plain
    from overread.cli.read import open_to_readers
    from overread.reading.room import open_room
    from overread.reading.server import bind, check_reachable

    if detector == Path("demo-output/runs/main") and not (detector / "detector.json").exists():
        print_plain("There is no detector yet: overread demo trains one first, which takes a few minutes.")
        from overread.cli.demo import demo

        demo()
    study = make_images(output, n_images)
    room = open_room(study).with_training(output / "training")
    room.change_labels(["nodule", "other"])
    if room.plan.design == "unaided":
        room.change_plan(design="sequential", repeats=1)
    check_reachable(host, None)
    with closing(room.store), closing(bind(host, port)) as listening:
        print_links(room, f"http://{host}:{listening.getsockname()[1]}")
        open_to_readers(room, host, listening, None, detector, 1.0)


def make_images(output: Path, n_images: int) -> Path:
    """Simulate the images to read, without marks, and a few to train on, with them."""
    from overread import simulate
    from overread.simulate import CaseLaw, NoduleLaw

    law = CaseLaw(nodules=NoduleLaw(counts=(0.4, 0.3, 0.2, 0.1), conspicuity=(1.0, 3.5)), distractors=0.6)
    study, training = output / "study", output / "training"
    if not (study / "reading").exists():
        simulate.cohort(study, n_images=n_images, law=law, seed=SEED, workers=1)
        for name in ("marks.csv", "readings.csv"):
            (study / name).unlink(missing_ok=True)
    if not (training / "readings.csv").exists():
        simulate.cohort(training, n_images=TRAINING_IMAGES, law=law, seed=TRAINING_SEED, workers=1)
    return study


def print_links(room: Room, url: str) -> None:
    """Make and print everybody's links; those of an earlier start end."""
    from overread.cli.conventions import print_plain
    from overread.reading.app import Address, make_link
    from overread.reading.people import add_person, revoke

    address = Address(url)
    linked = {row["person"] for row in room.store.rows("SELECT person FROM people WHERE secret IS NOT NULL")}
    people = [*((name, "reader") for name in READERS), (CHAIR, "chair"), ("owner", "owner")]
    for name, role in people:
        if name in linked:
            revoke(room.store, name)
        print_plain(f"{name}: {make_link(address, add_person(room.store, name, role))}")

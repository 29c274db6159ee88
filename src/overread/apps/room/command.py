"""``overread read``: a study's reading room.

``overread demo-read``: a reading room of phantoms with three readers and a detector, ready to try.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread._commands import (
    Flag,
    OutputPath,
    check_seed,
    print_plain,
    print_report,
    print_warnings,
    run_demo,
)
from overread._terminal import ProgressBar, print_line
from overread._text import shell_word
from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    from socket import socket

    from overread.apps.room._room import Room


FIRST_PORT = 8765
Names = Annotated[list[str] | None, Parameter(negative=())]


@Parameter(name="*", group="Reading plan")
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The reading plan, which the room stores.

    Parameters
    ----------
    assign
        Number of readers per image: all, a number, or a range such as 4-5.
    repeats
        Number of images that each reader sees a second time without knowing it.
    labels
        Labels that a mark may have, separated by commas.
    training
        Study with training images, which come first, with feedback.
    design
        When readers see the detector's marks: sequential (after each image's unaided reading is locked) or independent
        (in a later session).
    seed
        Of assignment and order.
    """

    assign: str | None = None
    repeats: int | None = None
    labels: str | None = None
    training: Path | None = None
    design: str | None = None
    seed: int | None = None

    def keep(self, room: Room) -> Room:
        """Store the given plan, labels and training study."""
        from overread.apps.room._worklists import parse_assignment

        fewest, most = (None, None) if self.assign is None else parse_assignment(self.assign)
        seed = None if self.seed is None else check_seed(self.seed)
        room.change_plan(fewest=fewest, most=most, repeats=self.repeats, design=self.design, seed=seed)
        if self.labels is not None:
            room.change_labels([label.strip() for label in self.labels.split(",") if label.strip()])
        if self.training is None:
            return room
        with ProgressBar():
            return room.with_training(self.training)


@Parameter(name="*", group="People and tables (does not open the room)")
@dataclass(frozen=True, kw_only=True)
class Management:
    """Actions on a room that need not be open.

    Parameters
    ----------
    add_reader
        Add a reader and print the personal link; repeat for more.
    chair
        Add a chair, who decides where readers disagree, and print the link.
    revoke
        Revoke a person's link and sessions; their readings stay.
    owner_link
        Print a link to the owner's page; it replaces an earlier link.
    import_marks
        Import the study's marks.csv and readings.csv as finished readings.
    export
        Write marks.csv, readings.csv and the other tables now; this also works while the room is open.
    """

    add_reader: Names = None
    chair: Names = None
    revoke: Names = None
    owner_link: Flag = False
    import_marks: Flag = False
    export: Flag = False

    def do(self, room: Room, url: str) -> None:
        """Do the given actions, and print new links."""
        from overread.apps.room._people import revoke
        from overread.apps.room._tables import take_in_marks

        for name in self.revoke or ():
            revoke(room.store, name)
            print_plain(f"{name}: the link is no longer valid")
        if self.import_marks:
            _prepare_pictures(room)
            n_readings, n_marks = take_in_marks(room.store, room.folder)
            print_plain(f"imported {n_readings} readings with {n_marks} marks")
        added = [(name, "reader") for name in self.add_reader or ()]
        added += [(name, "chair") for name in self.chair or ()] + [("owner", "owner")] * self.owner_link
        _print_links(room, url, added)
        if added:
            print_plain(
                "Each link is shown only once and works like a password: send it only to that person."
            )
        # An open room gets the new reader's worklist now; a room that was never opened makes all of them when it opens.
        if self.add_reader and room.has_worklists:
            prepare(room)
        elif self.add_reader:
            print_plain(f"Next: open the room with: overread read {shell_word(room.folder)}")
        if self.export:
            export_tables(room)


def read(
    study: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    url: str | None = None,
    proxy: str | None = None,
    detector: Path | None = None,
    fp: float | None = None,
    plan: PlanOptions | None = None,
    management: Management | None = None,
) -> None:
    """Open a study's reading room, where readers mark images in the browser, blind to each other.

    First add readers, each of whom gets a personal link; then run the command with only the study to open the room. All
    acts are stored in STUDY/reading at once; marks.csv and readings.csv are written when the room is closed, or with
    --export.

    Parameters
    ----------
    study
        Folder with images.csv, as overread init makes it.
    host
        Address to listen at. One that others can reach needs --url.
    port
        Port to listen at; 0: any free port. By default the last one, initially 8765; the links contain it.
    url
        Address of the room for readers, with its path, if a proxy serves it. It is stored.
    proxy
        Address of the proxy, such as 127.0.0.1, whose X-Forwarded-For is trusted. It is stored.
    detector
        Second reader: detector.json of a run, the run's folder, or a table of detections.
    fp
        Operating point of the detector: false positives per image. By default the room's, or the study's, usually 0.5.
    plan
        The reading plan.
    management
        Actions on a room that need not be open.
    """
    with print_warnings():
        from overread.apps.room._app import Address, bind, check_proxy, check_reachable
        from overread.apps.room._room import open_room

        if fp is not None and detector is None:
            raise UsageError("--fp is the operating point of a detector. Give --detector too.")
        room = open_room(study)
    try:
        room = (plan or PlanOptions()).keep(room)
        kept = {"port": FIRST_PORT, "url": None, "proxy": None} | (room.store.setting("address") or {})
        port = kept["port"] if port is None else port
        url = kept["url"] if url is None else Address(url).url
        proxy = kept["proxy"] if proxy is None else check_proxy(proxy)
        if port != 0:
            # So that links stay valid.
            room.store.set_setting("address", {"port": port, "url": url, "proxy": proxy})
        if management is not None and management != Management():
            if detector is not None:
                _prepare_pictures(room, detector, fp)
            management.do(room, f"http://{host}:{port}" if url is None else url)
            return
        check_reachable(host, url)
        with closing(bind(host, port)) as listening:
            url = url or f"http://{host}:{listening.getsockname()[1]}"
            open_to_readers(room, listening, url, detector, fp, proxy)
    finally:
        room.store.close()


def _print_links(room: Room, url: str, people: Iterable[tuple[str, str]]) -> None:
    """Add people by name and role, and print their links."""
    from overread.apps.room._app import Address
    from overread.apps.room._people import add_person

    address = Address(url)
    for name, role in people:
        print_plain(f"{name}: {address.link(add_person(room.store, name, role))}")


def export_tables(room: Room) -> None:
    """Write the tables, and print how to use them."""
    from overread.truth import ADJUDICATION_FILE

    written = room.export()
    for path in written:
        print_plain(f"wrote {path}")
    if room.folder / ADJUDICATION_FILE in written:
        print_plain(
            f'For the chairs\' decisions, set adjudication = "{ADJUDICATION_FILE}" under [inputs] in study.toml.'
        )


def _prepare_pictures(room: Room, detector: Path | None = None, fp: float | None = None) -> None:
    """Read the images' metadata, run a detector for a room that opens later, and list skipped images."""
    with print_warnings(), ProgressBar():
        bad = room.prepare_pictures()
        if detector is not None:
            bad |= room.keep_detector(detector, fp)
    _print_images(room, bad, rated=detector is not None)


def _print_images(room: Room, bad: dict[str, str], *, rated: bool = True) -> None:
    """List the images that readers will not see, and compare the detector's marks with its operating point."""
    from overread.apps.room._second_reading import rate_marks

    rate = rate_marks(room.store) if rated else None
    for reason in bad.values():
        print_plain(f"overread: skipped: {reason}", stderr=True)
    if rate is not None:
        print_plain(rate.tell(), style="yellow" if rate.differs else None)


def prepare(room: Room, detector: Path | None = None, fp: float | None = None) -> None:
    """Prepare a room, and list skipped images."""
    with print_warnings(), ProgressBar():
        bad, added = room.prepare(detector, fp)
    _print_images(room, bad)
    for name, count in added.items():
        if count:
            print_plain(f"{name}: {count} images on the worklist")


def open_to_readers(
    room: Room, listening: socket, url: str, detector: Path | None, fp: float | None, proxy: str | None = None
) -> None:
    """Prepare a room and serve it until it is stopped; ``url`` is its address for readers."""
    from overread.apps.room._app import Address, serve

    if not room.store.rows("SELECT 1 FROM people WHERE secret IS NOT NULL LIMIT 1"):
        raise UsageError(
            f"the room has no readers. Add them with: overread read {room.folder} --add-reader NAME"
        )
    prepare(room, detector, fp)
    address = Address(url)

    def ready() -> None:
        print_line(f"the reading room of {room.name} is open at {address.url}; close it with Ctrl-C")

    serve(room, listening, address, proxy=proxy, ready=ready)
    try:
        export_tables(room)
    except (InvalidInputError, UsageError) as error:
        # All data are in the store, so that a failure to write tables is not an error.
        print_plain(f"overread: no tables written: {error}", stderr=True)
    print_plain("closed; the same command opens it again")


READERS = ("Anna", "Ben", "Cleo")
CHAIR = "Chair"
TRAINING_IMAGES = 3
# Not the cohort on which the demo's detector was trained.
SEED, TRAINING_SEED = 1001, 1002


def demo_read(
    *,
    output: OutputPath = Path("demo-reading"),
    n_images: int = 12,
    detector: Path = Path("demo-output/runs/main"),
    host: str = "127.0.0.1",
    port: int = 8765,
) -> None:
    """Open a reading room with simulated images, three readers, a chair, the owner and a detector.

    Nothing is downloaded. The same command continues with the same readings and new links.

    Parameters
    ----------
    output
        Folder of the study.
    n_images
        Number of images to read; three training images with feedback come first.
    detector
        Second reader: the run or detector.json of overread demo, which is run first if missing.
    host
        Address to listen at.
    port
        To listen at; 0: any that is free.
    """
    from overread.apps.room._app import bind, check_reachable
    from overread.apps.room._people import revoke
    from overread.apps.room._room import open_room

    if detector == Path("demo-output/runs/main") and not (detector / "detector.json").exists():
        print_plain("There is no detector yet. overread demo trains one first, which takes a few minutes.")
        print_report(run_demo(Path("demo-output")))
    study = _make_images(output, n_images)
    room = open_room(study).with_training(output / "training")
    room.change_labels(["nodule", "other"])
    if room.plan.design == "unaided":
        room.change_plan(design="sequential", repeats=1)
    check_reachable(host, None)
    with closing(room.store), closing(bind(host, port)) as listening:
        url = f"http://{host}:{listening.getsockname()[1]}"
        people = [*((name, "reader") for name in READERS), (CHAIR, "chair"), ("owner", "owner")]
        for (name,) in room.store.rows("SELECT person FROM people WHERE secret IS NOT NULL"):
            if name in dict(people):
                revoke(room.store, name)
        _print_links(room, url, people)
        open_to_readers(room, listening, url, detector, 1.0)


def _make_images(output: Path, n_images: int) -> Path:
    """Simulate the images to read, without marks, and a few training images with marks."""
    from overread import simulate
    from overread.simulate import CaseDistribution, NoduleDistribution

    law = CaseDistribution(
        nodules=NoduleDistribution(counts=(0.4, 0.3, 0.2, 0.1), conspicuity=(1.0, 3.5)), distractors=0.6
    )
    study, training = output / "study", output / "training"
    if not (study / "reading").exists():
        simulate.cohort(study, n_images=n_images, law=law, seed=SEED, workers=1)
        for name in ("marks.csv", "readings.csv"):
            (study / name).unlink(missing_ok=True)
    if not (training / "readings.csv").exists():
        simulate.cohort(training, n_images=TRAINING_IMAGES, law=law, seed=TRAINING_SEED, workers=1)
    return study

"""``overread read``: a study's reading room."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread.cli.conventions import check_seed, print_plain, print_warnings
from overread.errors import InvalidInputError, UsageError
from overread.screen import print_line
from overread.words import shell_word

if TYPE_CHECKING:
    from socket import socket

    from overread.detection.mark_rate import MarkRate
    from overread.reading.room import Room

__all__ = ["open_to_readers", "read"]

OWNER = "owner"
FIRST_PORT = 8765


def read(
    study: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    url: str | None = None,
    add_reader: list[str] | None = None,
    chair: list[str] | None = None,
    revoke: list[str] | None = None,
    owner_link: Annotated[bool, Parameter(negative=())] = False,
    assign: str | None = None,
    repeats: int | None = None,
    labels: str | None = None,
    training: Path | None = None,
    detector: Path | None = None,
    fp: float | None = None,
    proxy: str | None = None,
    design: str | None = None,
    seed: int | None = None,
    import_marks: Annotated[bool, Parameter(negative=())] = False,
    export: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Open a study's reading room: readers mark its images in the browser, blind to each other.

    Make readers first, each gets a personal link; then open the room with the study alone. Everything is kept in
    STUDY/reading at once; marks.csv and readings.csv are written when the room is closed, or with --export.

    Parameters
    ----------
    study
        Folder with images.csv, as overread init makes it.
    host
        Address to listen at. One that others can reach needs --url.
    port
        To listen at; 0: any that is free. Without it the one of the last time, at first 8765: the links hold it.
    url
        Address of the room as readers see it, where a proxy serves it; with the path, if it has one. It is kept.
    add_reader
        Make a reader and print the personal link; may be given several times.
    chair
        Make a chair, who decides where readers disagree, and print the link.
    revoke
        End somebody's link and sessions; what they read stays.
    owner_link
        Print a link to the owner's page; an earlier one ends.
    assign
        Readers of each image: all, a number, or two such as 4-5.
    repeats
        Images that each reader sees a second time without being told.
    labels
        Labels that a mark may have, with commas between.
    training
        Study whose images come first, with feedback.
    detector
        Second reader: detector.json of a run, the run's folder, or a table of detections.
    fp
        Operating point of the detector: false positives per image (1 unless given).
    proxy
        Address of the proxy that says for whom it asks (X-Forwarded-For), such as 127.0.0.1. It is kept.
    design
        With a detector: sequential (after each image's own reading is locked) or independent (a later session).
    seed
        Of assignment and order.
    import_marks
        Take in marks.csv and readings.csv that the study has already, as readings that are done.
    export
        Write marks.csv, readings.csv and the other tables now; the room may be open.
    """
    with print_warnings():
        from overread.reading.room import open_room
        from overread.reading.server import bind, check_reachable

        if fp is not None and detector is None:
            raise UsageError("--fp: says at which operating point a --detector works; give both")
        room = open_room(study)
    at_fp = 1.0 if fp is None else fp
    try:
        room = keep_settings(room, assign, repeats, labels, training, design, seed)
        port, url, proxy = keep_address(room, port, url, proxy)
        wanted = (add_reader, chair, revoke, owner_link, import_marks, export)
        if any(wanted):
            if detector is not None:
                keep_detector(room, detector, at_fp)
            manage(room, f"http://{host}:{port}" if url is None else url, *wanted)
            return
        check_reachable(host, url)
        with closing(bind(host, port)) as listening:
            open_to_readers(room, host, listening, url, detector, at_fp, proxy)
    finally:
        room.store.close()


def keep_settings(
    room: Room,
    assign: str | None,
    repeats: int | None,
    labels: str | None,
    training: Path | None,
    design: str | None,
    seed: int | None,
) -> Room:
    """Keep what the command says of the plan, the labels and the training."""
    from overread.progress import ProgressBar
    from overread.reading.worklists import parse_assignment

    fewest, most = (None, None) if assign is None else parse_assignment(assign)
    if seed is not None:
        check_seed(seed)
    room.change_plan(fewest=fewest, most=most, repeats=repeats, design=design, seed=seed)
    if labels is not None:
        room.change_labels([label.strip() for label in labels.split(",") if label.strip()])
    if training is None:
        return room
    with ProgressBar():
        return room.with_training(training)


def keep_address(
    room: Room, port: int | None, url: str | None, proxy: str | None
) -> tuple[int, str | None, str | None]:
    """Remember where the room is found and by which proxy, so that links stay right; return it."""
    from overread.reading.app import Address
    from overread.reading.server import check_proxy

    kept = {"port": FIRST_PORT, "url": None, "proxy": None} | (room.store.setting("address") or {})
    port = kept["port"] if port is None else port
    url = kept["url"] if url is None else Address(url).url
    proxy = kept["proxy"] if proxy is None else check_proxy(proxy)
    if port != 0:
        room.store.set_setting("address", {"port": port, "url": url, "proxy": proxy})
    return port, url, proxy


def manage(
    room: Room,
    url: str,
    add_reader: list[str] | None,
    chair: list[str] | None,
    revoke: list[str] | None,
    owner_link: bool,  # noqa: FBT001
    import_marks: bool,  # noqa: FBT001
    export: bool,  # noqa: FBT001
) -> None:
    """Do what is asked of a room that need not be open."""
    from overread.reading import people
    from overread.reading.app import Address, make_link
    from overread.reading.tables import take_in_marks

    address = Address(url)
    for name in revoke or ():
        people.revoke(room.store, name)
        print_plain(f"{name}: the link is no longer valid")
    if import_marks:
        prepare_pictures(room)
        n_readings, n_marks = take_in_marks(room.store, room.folder)
        print_plain(f"took in {n_readings} readings with {n_marks} marks")
    people_to_add = [(name, "reader") for name in add_reader or ()] + [
        (name, "chair") for name in chair or ()
    ]
    if owner_link:
        people_to_add.append((OWNER, "owner"))
    for name, role in people_to_add:
        print_plain(f"{name}: {make_link(address, people.add_person(room.store, name, role))}")
    if people_to_add:
        print_plain(
            "Each link is shown only now, and is as good as a password: send it to that person alone."
        )
    # An open room gets the new reader's worklist at once; one that never was makes all of them when it opens.
    if add_reader and room.has_worklists:
        prepare(room, None, 1.0)
    elif add_reader:
        print_plain(f"Next: overread read {shell_word(room.folder)} opens the room.")
    if export:
        export_tables(room)


def export_tables(room: Room) -> None:
    """Write the tables, and say what to do with them."""
    from overread.truth.adjudication import ADJUDICATION_FILE

    written = room.export()
    for path in written:
        print_plain(f"wrote {path}")
    if room.folder / ADJUDICATION_FILE in written:
        print_plain(
            f'A run uses the chairs\' decisions with adjudication = "{ADJUDICATION_FILE}" under [inputs] in study.toml.'
        )


def prepare_pictures(room: Room) -> None:
    """Read the facts of the images, and say which cannot be read."""
    from overread.progress import ProgressBar

    with ProgressBar():
        bad = room.prepare_pictures()
    complain(bad)


def keep_detector(room: Room, detector: Path, fp: float) -> None:
    """Run a detector for a room that opens later, and say which images it cannot read."""
    from overread.progress import ProgressBar
    from overread.reading.second_reading import rate_marks

    with print_warnings(), ProgressBar():
        bad = room.prepare_pictures() | room.keep_detector(detector, fp)
    complain(bad)
    print_mark_rate(rate_marks(room.store))


def print_mark_rate(rate: MarkRate | None) -> None:
    """Say how many marks the detector makes here, beside how many it made where its threshold was locked."""
    if rate is not None:
        print_plain(rate.tell(), style="yellow" if rate.differs else None)


def prepare(room: Room, detector: Path | None, fp: float) -> None:
    """Make a room ready, and say what is left out."""
    from overread.progress import ProgressBar

    with print_warnings(), ProgressBar():
        ready = room.prepare(detector, fp)
    complain(ready.bad_images)
    print_mark_rate(ready.marks)
    for name, count in ready.added.items():
        if count:
            print_plain(f"{name}: {count} images on the worklist")


def complain(bad: dict[str, str]) -> None:
    """Print a line for each image that readers will not see."""
    for reason in bad.values():
        print_plain(f"overread: left out: {reason}", stderr=True)


def open_to_readers(
    room: Room,
    host: str,
    listening: socket,
    url: str | None,
    detector: Path | None,
    fp: float,
    proxy: str | None = None,
) -> None:
    """Prepare a room and serve it until it is stopped."""
    from overread.reading.app import Address
    from overread.reading.server import serve

    if not room.active_readers() and not room.store.rows(
        "SELECT 1 FROM people WHERE secret IS NOT NULL LIMIT 1"
    ):
        raise UsageError(
            f"nobody can enter yet (make readers: overread read {room.folder} --add-reader NAME)"
        )
    prepare(room, detector, fp)
    shown = f"http://{host}:{listening.getsockname()[1]}"
    address = Address(shown if url is None else url)

    def ready() -> None:
        print_line(f"the reading room of {room.name} is open at {address.url}; close it with Ctrl-C")

    serve(room, listening, address, proxy=proxy, ready=ready)
    try:
        export_tables(room)
    except (InvalidInputError, UsageError) as error:
        # Everything is in the store; tables that cannot be written now are no reason to end badly.
        print_plain(f"overread: no tables written: {error}", stderr=True)
    print_plain("closed; opened again with the same command it goes on")

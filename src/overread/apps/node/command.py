"""``overread node``: run a detector as a DICOM node, and list its studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread._commands import Flag, PixelSize, emit, open_detector, parse_spacing, print_plain, print_table
from overread._terminal import print_line
from overread.errors import UsageError

if TYPE_CHECKING:
    from overread.apps.node._service import Node


IS_HELD = "another node uses this folder (process {holder}). Stop it, or give another --spool."


def node(
    detector: Path | None = None,
    *,
    spool: Path,
    destination: str | None = None,
    ae_title: Annotated[str, Parameter(name="--ae-title")] = "OVERREAD",
    host: str = "127.0.0.1",
    port: int = 11112,
    callers: str = "",
    fp: float | None = None,
    mm_per_px: PixelSize = None,
    largest_mb: int = 192,
    keep: Flag = False,
    status: Flag = False,
    table: Path | None = None,
    json: Flag = False,
) -> None:
    """Receive images by C-STORE, detect, and send a report and a presentation state of each to a destination.

    An image is acknowledged when it is on the disk. A node that was stopped or killed continues when it is started
    again with the same spool. It runs until it is interrupted. With --status it lists the studies instead.

    Parameters
    ----------
    detector
        Folder of a run, or its detector.json.
    spool
        Folder for waiting images, waiting documents and the journal.
    destination
        Destination of the documents, as AE@HOST:PORT.
    ae_title
        AE title of this node.
    host
        Address to listen at. One that others can reach needs --callers.
    port
        Port to listen at; 0: any free port.
    callers
        AE titles that may send, separated by commas. By default all, but only from this machine.
    fp
        Operating point: false positives per image in training + validation. By default the study's, usually 0.5.
    mm_per_px
        Pixel size in mm, X or X,Y, where the image does not state it.
    largest_mb
        Longest accepted message, in MB.
    keep
        Keep processed images and sent documents. By default only the journal stays.
    status
        List the studies of the spool: images done, waiting and failed, with the reason.
    table
        With --status: write the list to this file, CSV or Parquet.
    json
        With --status: print the list as JSON.
    """
    if status:
        _show_status(spool, table, as_json=json)
        return
    if table is not None or json:
        raise UsageError("--table and --json need --status")
    if detector is None or destination is None:
        raise UsageError("a node needs a DETECTOR and --destination AE@HOST:PORT (or --status)")
    from overread.apps.node._service import Node
    from overread.apps.node._settings import Destination, NodeSettings
    from overread.apps.node._spool import PRIVATE_FOLDER
    from overread.files import folder_lock
    from overread.study import Request

    settings = NodeSettings(
        Destination.parse(destination),
        ae_title=ae_title,
        host=host,
        port=port,
        callers=tuple(caller.strip() for caller in callers.split(",") if caller.strip()),
        largest_bytes=largest_mb << 20,
        keep=keep,
    )
    model = open_detector(detector)
    point = model.operating_point(fp)
    request, spacing = Request(model, point.fp_target, documents=True), parse_spacing(mm_per_px)
    if spool.exists() and not spool.is_dir():
        raise UsageError(f"{spool}: is a file; --spool is a folder")
    spool.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    with folder_lock(spool, "lock", IS_HELD):
        _run_until_stopped(Node(settings, request, spool, mm_per_px=spacing, log=_complain))


def _run_until_stopped(running: Node) -> None:
    """Run a node until SIGINT or SIGTERM."""
    import signal
    import threading

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with running:
        # Flush, because the parent process may read the port from a pipe.
        at = running.settings
        print_line(f"listening as {at.ae_title} at {at.host}:{running.port}; stop with Ctrl-C")
        while not stop.wait(0.5):
            running.wait(0)
    print_plain("stopped; start it with the same --spool to continue")


def _complain(line: str) -> None:
    """Print one line about a problem."""
    print_plain(f"overread: {line}", stderr=True)


def _show_status(spool: Path, table: Path | None, *, as_json: bool) -> None:
    """List the studies of a spool."""
    from overread.apps.node._spool import Ledger

    if not (spool / "node.sqlite").exists():
        raise UsageError(f"{spool}: no node has used this folder (it has no node.sqlite)")
    ledger = Ledger(spool / "node.sqlite", read_only=True)
    studies = ledger.worklist()
    ledger.close()
    if table is not None:
        from overread.tables import write_table

        write_table(studies, table)

    def show(_: object) -> None:
        header = (name.replace("_", " ") for name in studies.columns)
        print_table(header, studies.astype(str).itertuples(index=False, name=None), box=None, pad_edge=False)
        counts = ", ".join(f"{studies[name].sum()} {name}" for name in ("done", "waiting", "failed"))
        print_plain(f"{len(studies)} studies, {studies['images'].sum()} images: {counts}")

    emit(studies.to_dict("records"), show, as_json=as_json)

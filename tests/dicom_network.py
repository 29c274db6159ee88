"""Both ends of a node: an archive that takes documents, and a modality that sends images; on loopback alone."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.uid import ExplicitVRLittleEndian
from pynetdicom import AE, evt
from pynetdicom.sop_class import Verification

from overread.apps.node._receiver import quiet_network_log
from overread.apps.node._service import Node
from overread.apps.node._spool import Ledger, Spool

SR, PR = "1.2.840.10008.5.1.4.1.1.88.33", "1.2.840.10008.5.1.4.1.1.11.1"
DX = "1.2.840.10008.5.1.4.1.1.1.1"


class Archive:
    """Takes documents; ``with Archive() as archive``. What it answers can be chosen."""

    def __init__(self, answer: Callable[[Dataset], int] = lambda _: 0x0000, port: int = 0) -> None:
        self.received: list[Dataset] = []
        self._answer = answer
        self._port = port
        self._server: Any = None
        quiet_network_log()

    def __enter__(self) -> "Archive":
        entity = AE(ae_title="ARCHIVE")
        for document_class in (SR, PR):
            entity.add_supported_context(document_class)
        entity.maximum_associations = 20
        handlers = [(evt.EVT_C_STORE, self._store)]
        self._server = entity.start_server(("127.0.0.1", self._port), block=False, evt_handlers=handlers)
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()

    @property
    def port(self) -> int:
        return int(self._server.socket.getsockname()[1])

    def _store(self, event: Any) -> int:
        document = event.dataset
        status = self._answer(document)
        if status == 0x0000:
            self.received.append(document)
        return status

    def uids(self, sop_class: str | None = None) -> list[str]:
        return [str(one.SOPInstanceUID) for one in self.received if sop_class in (None, one.SOPClassUID)]


def connect(port: int, called: str = "OVERREAD", calling: str = "MODALITY", classes=(DX,)) -> Any:
    entity = AE(ae_title=calling)
    entity.add_requested_context(Verification)
    for one in classes:
        entity.add_requested_context(one, ExplicitVRLittleEndian)
    entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = 60
    return entity.associate("127.0.0.1", port, ae_title=called)


def send(paths: Iterable[Path | Dataset], port: int, **options) -> list[int | None]:
    """Statuses of images sent one after the other; None from where the connection broke."""
    statuses: list[int | None] = []
    association = connect(port, **options)
    for path in paths:
        try:
            response = association.send_c_store(path if isinstance(path, Dataset) else dcmread(path))
            statuses.append(int(response.Status) if "Status" in response else None)
        except RuntimeError:
            statuses.append(None)
    if association.is_established:
        association.release()
    return statuses


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what must come; a bound on how long a broken node holds the tests, not a measurement."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def put(spool: Spool, path: Path) -> str:
    """Put an image into a spool as if it had been received, and return its UID."""
    image = dcmread(path)
    uid = str(image.SOPInstanceUID)
    spool.image_path(uid).write_bytes(path.read_bytes())
    spool.ledger.receive(uid, str(image.StudyInstanceUID), "digest", "A")
    return uid


def sums(ledger: Ledger) -> list[int]:
    """Images of a journal: all, done, waiting and failed."""
    studies = ledger.worklist()
    return [int(studies[name].sum()) for name in ("images", "done", "waiting", "failed")]


def wait_until_idle(node: Node) -> None:
    """Wait until every image is done or failed."""
    wait_until(lambda: sums(node._spool.ledger)[2] == 0)

"""``overread node``: a process that is stopped, killed, and asked what it did."""

import json
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from pydicom import dcmread

from dicom_network import PR, SR, Archive, connect, sums, wait_until
from node_process import running_node
from overread.apps.node._spool import Ledger
from overread.errors import LockedError
from overread.files import folder_lock
from stand_in_detector import write_images


def sums_of(spool: Path) -> list[int]:
    with closing(Ledger(spool / "node.sqlite")) as ledger:
        return sums(ledger)


def images_of(archive: Archive, sop_class: str) -> list[str]:
    """Image of each presentation state or report."""
    found = []
    for one in archive.received:
        if one.SOPClassUID == sop_class == PR:
            found.append(one.ReferencedSeriesSequence[0].ReferencedImageSequence[0])
        elif one.SOPClassUID == sop_class:
            series = one.CurrentRequestedProcedureEvidenceSequence[0].ReferencedSeriesSequence[0]
            found.append(series.ReferencedSOPSequence[0])
    return [str(item.ReferencedSOPInstanceUID) for item in found]


def send_until_acknowledged(paths: list[Path], port: Callable[[], int], stop: threading.Event) -> None:
    """Send as a modality does: what was not acknowledged is sent again."""
    waiting = list(paths)
    while waiting and not stop.is_set():
        try:
            sent = []
            association = connect(port())
            for path in waiting if association.is_established else []:
                response = association.send_c_store(dcmread(path))
                if "Status" not in response or response.Status != 0x0000:
                    break
                sent.append(path)
            if association.is_established:
                association.release()
        except RuntimeError:
            pass
        waiting = [path for path in waiting if path not in sent]
        time.sleep(0.1)


def refuses_strangers_and_holds_its_spool(port: int, spool: Path) -> None:
    association = connect(port)
    assert association.send_c_echo().Status == 0x0000
    association.release()
    assert not connect(port, calling="STRANGER").is_established
    with pytest.raises(LockedError), folder_lock(spool, "lock", "{holder}"):
        pass


def answer_all(tmp_path: Path, count: int, kill_after: int, senders: int, rounds: int) -> Archive:
    """Send images from several senders while the node is killed once and started again."""
    images = write_images(tmp_path / "in", count)
    spool, stop = tmp_path / "spool", threading.Event()
    with Archive() as archive:
        where = f"ARCHIVE@127.0.0.1:{archive.port}"

        ports: list[int] = []

        def start_senders():
            threads = [
                threading.Thread(
                    target=send_until_acknowledged, args=(images[k::senders], lambda: ports[-1], stop)
                )
                for k in range(senders)
            ]
            for thread in threads:
                thread.start()
            return threads

        try:
            with running_node(spool, where) as (node, port):
                ports.append(port)
                threads = start_senders()
                wait_until(lambda: len(archive.received) >= kill_after, 600)
                node.send_signal(signal.SIGKILL)
                node.wait()
            with running_node(spool, where, "--callers", "MODALITY") as (node, port):
                ports.append(port)
                for number in range(rounds):
                    for thread in threads:
                        thread.join(600)
                    if number + 1 < rounds:
                        threads = start_senders()
                wait_until(lambda: sums_of(spool)[1] == count, 600)
                refuses_strangers_and_holds_its_spool(port, spool)
                node.send_signal(signal.SIGTERM)
                assert node.wait(60) == 0
        finally:
            stop.set()
    assert sums_of(spool) == [count, count, 0, 0]
    uids = sorted(str(dcmread(path).SOPInstanceUID) for path in images)
    # What was under way when the node was killed may come twice, as the same instance.
    archive.received = list({str(one.SOPInstanceUID): one for one in archive.received}.values())
    assert sorted(images_of(archive, SR)) == sorted(images_of(archive, PR)) == uids
    return archive


pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")


def test_killed_once_every_image_is_answered_once(tmp_path):
    answer_all(tmp_path, 5, kill_after=2, senders=2, rounds=1)


@pytest.mark.slow
def test_500_images_twice_and_one_kill_every_image_is_answered_once(tmp_path):
    answer_all(tmp_path, 500, kill_after=200, senders=4, rounds=2)


def test_the_status_as_text_json_and_table(run, tmp_path, capsys):
    ledger = Ledger(tmp_path / "node.sqlite")
    for uid in ("1.1", "1.2", "1.3"):
        ledger.receive(uid, "1", "digest", "[red]A")
    ledger.answer("1.1", [], 2)
    ledger.fail("1.2", "too dark [red]")
    ledger.close()
    table = tmp_path / "studies.csv"
    assert run(["node", "--status", "--spool", tmp_path, "--table", table]) == 0
    told = capsys.readouterr().out
    assert "1 studies, 3 images: 1 done, 1 waiting, 1 failed" in told
    written = pd.read_csv(table)
    assert written[["images", "done", "waiting", "failed", "detections"]].to_numpy().tolist() == [
        [3, 1, 1, 1, 2]
    ]
    assert run(["node", "--status", "--spool", tmp_path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["reason"] == "too dark [red]"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--status"], 2, "no node has used this folder"),
        ([], 2, "needs a DETECTOR and --destination"),
        (["detector.json", "--destination", "PACS"], 2, "AE@HOST:PORT"),
        (["detector.json", "--destination", "P@127.0.0.1:1", "--host", "0.0.0.0"], 2, "--callers"),
        (["detector.json", "--destination", "P@127.0.0.1:1", "--ae-title", "X" * 17], 2, "--ae-title"),
        (["detector.json", "--destination", "P@127.0.0.1:1", "--largest-mb", "0"], 2, "--largest-mb"),
        (["detector.json", "--destination", "P@127.0.0.1:1"], 4, "detector.json: there is no such file"),
        (["--json", "--table", "x.csv"], 2, "need --status"),
    ],
)
def test_mistakes_get_one_line(run, tmp_path, capsys, options, code, words):
    assert run(["node", *options, "--spool", tmp_path / "spool"]) == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "spool").exists()

"""Images in a real Orthanc go to a node, and its documents come back. Run as a script in a network of its own.

Orthanc listens at every address of the machine, which its configuration cannot change for DICOM. So both live in a
network namespace that has nothing but loopback (``unshare --net``); nobody outside can reach them.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

from node_process import running_node

HTTP, DICOM, NODE = 8042, 4242, 11112
OPEN = build_opener(ProxyHandler({})).open


def ask(path: str, body: bytes | None = None) -> Any:
    """Answer of Orthanc's REST interface, bytes for files."""
    with OPEN(Request(f"http://127.0.0.1:{HTTP}{path}", data=body), timeout=120) as response:
        content = response.read()
    return content if path.endswith("/file") else json.loads(content or b"null")


@contextmanager
def running_orthanc(folder: Path) -> Iterator[None]:
    folder.mkdir()
    settings = {
        "StorageDirectory": str(folder / "store"),
        "IndexDirectory": str(folder / "store"),
        "HttpPort": HTTP,
        "RemoteAccessAllowed": False,
        "AuthenticationEnabled": False,
        "DicomPort": DICOM,
        "DicomAet": "ORTHANC",
        "DicomCheckCalledAet": True,
        "OverwriteInstances": False,
        "DicomModalities": {"overread": ["OVERREAD", "127.0.0.1", NODE]},
        "Plugins": [],
    }
    (folder / "orthanc.json").write_text(json.dumps(settings))
    with (folder / "log").open("wb") as log:
        orthanc = subprocess.Popen(
            [str(shutil.which("Orthanc")), str(folder / "orthanc.json")], stdout=log, stderr=log
        )
    try:
        wait_for(lambda: ask("/system"))
        yield
    finally:
        orthanc.terminate()
        orthanc.wait()


def wait_for(what: Any, seconds: float = 300) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = what()
        except (URLError, ConnectionError):
            found = None
        if found:
            return found
        time.sleep(0.2)
    raise TimeoutError("Orthanc did not get there")


def find(modality: str) -> list[str]:
    query = {"Level": "Instance", "Query": {"Modality": modality}}
    found: list[str] = ask("/tools/find", json.dumps(query).encode())
    return found


def main(detector: str, folder: Path, images: list[Path]) -> None:
    addresses = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    told: dict[str, Any] = {"networks": addresses.split()[::4]}
    with (
        running_orthanc(folder / "orthanc"),
        running_node(folder / "spool", f"ORTHANC@127.0.0.1:{DICOM}", "--keep", detector=detector, port=NODE),
    ):
        told["echo"] = ask("/modalities/overread/echo", b"{}")
        instances = [ask("/instances", path.read_bytes())["ID"] for path in images]
        for _ in range(2):
            ask("/modalities/overread/store", json.dumps(instances).encode())
        wait_for(lambda: len(find("SR")) == len(find("PR")) == len(images))
        # Sent once more, nothing is added.
        told["sent again"] = ask("/modalities/overread/store", json.dumps(instances).encode())[
            "FailedInstancesCount"
        ]
        time.sleep(3)
        told["instances"] = ask("/statistics")["CountInstances"]
        back = folder / "back"
        back.mkdir()
        for instance in (*find("SR"), *find("PR")):
            uid = ask(f"/instances/{instance}/simplified-tags")["SOPInstanceUID"]
            (back / f"{uid}.dcm").write_bytes(ask(f"/instances/{instance}/file"))
        told["stored"] = {}
        for path in sorted((folder / "changed").glob("*.dcm")):
            told["stored"][path.stem] = ask("/instances", path.read_bytes())["Status"]
        (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])

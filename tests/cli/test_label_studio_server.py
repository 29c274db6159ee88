"""Export to a real Label Studio server and back: two members, every ellipse exact.

The server runs in an environment of its own (``make label-studio``) on the loopback; without it the test is skipped.
"""

import http.cookiejar
import json
import os
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.images import write_dicom
from overread.marks import MarkSet, read_folder, write_folder

SERVER = Path(os.environ.get("LABEL_STUDIO", ".venv-label-studio/bin/label-studio"))
EMAILS = {"R1": "ann@example.org", "R2": "bob@example.org"}
PASSWORD = "a long one, 12"
START_MINUTES = 15


class Client:
    """A browser's session: cookies, and Django's token on every request that writes."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.jar = http.cookiejar.CookieJar()
        handlers = (urllib.request.HTTPCookieProcessor(self.jar), urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)

    def call(self, path, data=None, *, form=False):
        headers = {"Referer": self.address}
        token = next((cookie.value for cookie in self.jar if cookie.name == "csrftoken"), None)
        if token:
            headers["X-CSRFToken"] = token
        body = None
        if data is not None:
            body = urllib.parse.urlencode(data).encode() if form else json.dumps(data).encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded" if form else "application/json"
        request = urllib.request.Request(self.address + path, body, headers)
        with self.opener.open(request, timeout=60) as answer:
            return answer.read()

    def sign_up(self, email):
        page = self.call("/user/signup/").decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = {"email": email, "password": PASSWORD, "allow_newsletters": "false"}
        if token:
            form["csrfmiddlewaretoken"] = token.group(1)
        self.call("/user/signup/", form, form=True)


@pytest.fixture
def study(tmp_path):
    """A study of two readers, with ellipses that are turned in images that are not square."""
    folder = tmp_path / "study"
    folder.mkdir()
    random = np.random.default_rng(0)
    images, readings, marks = [], [], []
    for number in range(4):
        name = f"case {number}"
        pixels = random.integers(0, 4000, (90, 120)).astype(np.uint16)
        write_dicom(folder / f"{name}.dcm", pixels, 0.5, patient_id=f"P{number}", image_id=str(number))
        images.append((name, f"{name}.dcm", 0.5, 0.5, 120.0, 90.0))
        for reader in EMAILS:
            readings.append((name, reader))
            for place in range(number if reader == "R1" else 3 - number):
                x, y = random.uniform(10, 35, 2)
                shape = (x, y, 5 + random.uniform(), 3.0, random.uniform(0, 180))
                marks.append((name, reader, f"{reader}-{place}", *shape, "Nodule"))
    columns = ["image_id", "path", "mm_per_px_x", "mm_per_px_y", "width_px", "height_px"]
    shapes = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    write_folder(
        MarkSet(
            pd.DataFrame(marks, columns=["image_id", "reader_id", "mark_id", *shapes, "label"]),
            pd.DataFrame(readings, columns=["image_id", "reader_id"]),
            pd.DataFrame(images, columns=columns),
        ),
        folder,
    )
    return folder


@pytest.fixture
def server(tmp_path):
    """Address of a fresh server; stopped by its own process id."""
    if not SERVER.is_file():
        pytest.skip(f"no Label Studio at {SERVER}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "home"
    home.mkdir()
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(home),
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(tmp_path),
        "LABEL_STUDIO_HOST": "",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "HOME": str(home),
    }
    command = [SERVER.resolve(), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log, cwd=home)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(address, process, tmp_path / "server.log")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


def wait_for(address, process, log):
    """Wait for the first answer; a fresh server makes its database first, which takes minutes on a busy machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 60 * START_MINUTES
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the server stopped: {log.read_text()[-2000:]}")
        try:
            opener.open(f"{address}/health", timeout=5).close()
            return
        except OSError:
            time.sleep(1)
    pytest.fail(f"the server did not answer within {START_MINUTES} minutes: {log.read_text()[-2000:]}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_real_server_takes_the_export_and_gives_every_ellipse_back(run, study, server, tmp_path, capsys):
    members = ",".join(f"{reader}={email}" for reader, email in EMAILS.items())
    bundle = tmp_path / "bundle"
    assert run(["export", study, "--output", bundle, "--members", members]) == 0
    clients = {email: Client(server) for email in EMAILS.values()}
    for email, client in clients.items():
        client.sign_up(email)
    client = clients[EMAILS["R1"]]
    config = (bundle / "config.xml").read_text()
    project = json.loads(client.call("/api/projects/", {"title": "trip", "label_config": config}))
    storage = {"project": project["id"], "path": str(bundle / "images"), "use_blob_urls": True}
    client.call("/api/storages/localfiles", storage)
    answer = json.loads(
        client.call(f"/api/projects/{project['id']}/import", json.loads((bundle / "tasks.json").read_text()))
    )
    assert (answer["task_count"], answer["annotation_count"]) == (4, 8)
    tasks = json.loads((bundle / "tasks.json").read_text())
    picture = client.call(tasks[0]["data"]["image"])
    assert picture.startswith(b"\x89PNG")
    exported = tmp_path / "export.json"
    exported.write_bytes(client.call(f"/api/projects/{project['id']}/export?exportType=JSON"))
    numbers = {user["email"]: user["id"] for user in json.loads(client.call("/api/users/"))}
    names = ",".join(f"{numbers[email]}={reader}" for reader, email in EMAILS.items())
    options = ["--image-key", "image_id", "--images", str(study / "images.csv"), "--reader-names", names]
    assert run(["import", exported, *options, "--output", tmp_path / "back"]) == 0
    before, after = read_folder(study), read_folder(tmp_path / "back")
    keys = ["image_id", "reader_id"]
    assert set(map(tuple, before.readings[keys].to_numpy())) == set(
        map(tuple, after.readings[keys].to_numpy())
    )
    order = [*keys, "x_mm"]
    shapes = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    one, two = (part.marks.sort_values(order)[shapes].to_numpy() for part in (before, after))
    assert np.abs(one - two).max() < 1e-9

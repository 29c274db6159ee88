"""Fixtures shared by all tests."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pandas as pd
import pytest

from overread.images import Radiograph, read_image

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

    from phantom_detector import Trained

# Lets tests import what they share.
sys.path.insert(0, str(Path(__file__).parent))

# Tests start hundreds of processes: let them read bytecode instead of compiling the package each time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test cuts the power: what a killed process has written is kept without waiting for the disk.
os.fsync = lambda _: None

# The same examples in every run, however busy the machine.
hypothesis.settings.register_profile("overread", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("overread")

# Pages have a date: runs on both sides of midnight must give the same bytes.
os.environ["SOURCE_DATE_EPOCH"] = "1767225600"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write the pages in tests/report/golden anew"
    )


SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data beside the clone; its absence skips a test, but fails it under CI."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs ../shared/data beside the clone")
    return SHARED_DATA


# Modules that a worker, a spawned process or the resource tracker imports first.
BAIT = ("numpy", "pandas", "multiprocessing", "struct", "json", "signal", "pickle", "cv2")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules that leave the file PWNED when they are imported."""
    for name in BAIT:
        (tmp_path / f"{name}.py").write_text("open('PWNED', 'a').write('x')\nraise ImportError\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def lidc_marks(shared_data: Path) -> pd.DataFrame:
    """Coronal projections of LIDC's CT outlines: an image is a scan, a reader one of its four sessions."""
    names = {
        "scan_id": "image_id",
        "session": "reader_id",
        "annotation_id": "mark_id",
        "cor_x_mm": "x_mm",
        "cor_z_mm": "y_mm",
        "cor_semi_major_mm": "semi_major_mm",
        "cor_semi_minor_mm": "semi_minor_mm",
        "cor_angle_deg": "angle_deg",
    }
    ids = dict.fromkeys(["scan_id", "session", "annotation_id", "pylidc_cluster"], str)
    return pd.read_csv(shared_data / "lidc" / "lidc_ct_marks_coronal.csv", dtype=ids).rename(columns=names)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Under CI a skipped test is a failed one: nothing may go unchecked there."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped under CI: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[WebDriver]:
    """Headless Chromium; its absence skips a test, but fails it under CI."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


BuildOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> BuildOnce:
    """Return a folder by its name; the first process of pytest that asks builds it, the others only read it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, build: Callable[[Path], object]) -> Path:
        folder, built = shared / f"shared {name}", shared / f"{name}.built"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                shutil.rmtree(folder, ignore_errors=True)
                build(folder)
                built.touch()
        return folder

    return once


@pytest.fixture(scope="session")
def trained(build_once: BuildOnce) -> Trained:
    """A small detector and the phantoms it was trained on; not to be changed."""
    from phantom_detector import train

    def build(folder: Path) -> None:
        folder.mkdir()
        (folder / "trained.pickle").write_bytes(pickle.dumps(train(folder)))

    return pickle.loads((build_once("detector", build) / "trained.pickle").read_bytes())


@pytest.fixture(scope="session")
def cluster_address() -> Iterator[str]:
    """A Dask cluster of two worker processes on this machine; not to be killed."""
    pytest.importorskip("distributed")
    from dask_processes import start_cluster
    from overread.study.executors._dask import close_shared_clients

    with start_cluster() as cluster:
        yield cluster.scheduler_address
        close_shared_clients()


@pytest.fixture(scope="session")
def nih(shared_data: Path) -> Callable[[int], Radiograph]:
    """Radiograph by its place in the table."""
    folder = shared_data / "nih"
    table = pd.read_csv(folder / "images.csv")

    def radiograph(place: int) -> Radiograph:
        row = table.iloc[place]
        return read_image(folder / "images" / row["file"], mm_per_px=(row["mm_per_px_x"], row["mm_per_px_y"]))

    return radiograph


@pytest.fixture(scope="session")
def field_study(build_once: BuildOnce) -> Path:
    """A study of colour pictures with two groups of labels, which was run under the name main; not to be changed."""
    from field_study import GROUPS, write_field_study
    from overread.study import run_study

    return build_once(
        "pictures", lambda folder: run_study(write_field_study(folder, settings=GROUPS, n_images=12))
    )

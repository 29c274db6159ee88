"""Fixtures shared by all tests."""

from __future__ import annotations

import os
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


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small detector and the phantoms it was trained on; not to be changed."""
    from phantom_detector import train

    return train(tmp_path_factory.mktemp("phantoms"))


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
def field_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of colour pictures with two groups of labels, which was run under the name main."""
    from field_study import GROUPS, write_field_study
    from overread.study import run_study

    study = write_field_study(tmp_path_factory.mktemp("pictures") / "eyes", settings=GROUPS, n_images=12)
    run_study(study)
    return study

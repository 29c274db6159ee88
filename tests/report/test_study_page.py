"""The study's page in a real browser, and what it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from overread.froc import bootstrap
from overread.report import study_page

PHONE, DESK = 390, 1200


@pytest.fixture(scope="module")
def page(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "index.html"
    study_page(content).write(path)
    return path


def open_page(browser, page, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    browser.get_log("browser")
    browser.get(page.as_uri())


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_browser_shows_it_without_errors_or_sideways_scrolling(browser, page, width):
    open_page(browser, page, width)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height])"
    )
    assert len(sizes) == 10
    assert np.min(sizes) > 100
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []


def test_the_operating_point_follows_the_slider(browser, page, content):
    open_page(browser, page, DESK)
    for step in (10, 50):
        browser.execute_script(
            "const s = document.querySelector('.explorer input'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            step,
        )
        cells = browser.execute_script(
            "return [...document.querySelectorAll('.explorer tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
        )
        for row, model in zip(cells, content.models, strict=True):
            points = bootstrap(model.test, fp_targets=[step * 3 / 60], n_bootstrap=10).points.iloc[0]
            assert row[0] == model.name
            assert float(row[1]) == pytest.approx(points["threshold"], rel=1e-3)
            assert float(row[2]) == pytest.approx(points["fp_per_image"], abs=0.006)
            assert float(row[3].split(" %")[0]) == pytest.approx(100 * points["gt_sensitivity"], abs=0.06)
            assert float(row[4].split(" %")[0]) == pytest.approx(100 * points["image_sensitivity"], abs=0.06)
            assert row[3].count("%") == 3


def test_the_operating_point_follows_the_pointer(browser, page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    open_page(browser, page, DESK)
    svg = browser.find_element(By.CSS_SELECTOR, ".explorer svg")
    seen = []
    for offset in (-0.3, 0.3):
        ActionChains(browser).scroll_to_element(svg).move_to_element_with_offset(
            svg, int(offset * svg.size["width"]), 0
        ).perform()
        seen.append(float(browser.find_element(By.CSS_SELECTOR, ".explorer output").text))
    assert 0.2 < seen[0] < 1.2
    assert 1.8 < seen[1] < 2.9


def test_every_section_of_the_study_is_there(page):
    text = page.read_text(encoding="utf-8")
    for words in (
        "Readers", "Ground truth", "Choice of lambda", "Performance on unseen patients", "Table 1", "Chance", "By size",
        "told apart", "Importance of the readers", "Features", "Calibration", "Gallery of the test set",
        "Images that could not be used", "CLAIM checklist", "Simulated data: no patient here.",
        "cut short &amp; broken",
    ):  # fmt: skip
        assert words in text


def test_names_from_the_data_are_text_and_not_markup(content):
    evil = "</script><img src=x onerror=alert(1)>"
    models = tuple(dataclasses.replace(model, name=evil + model.name) for model in content.models)
    text = study_page(dataclasses.replace(content, models=models, title=evil)).html()
    assert "<img" not in text
    assert text.count("</script>") == 2


def test_the_page_is_the_same_bytes_again(content):
    assert study_page(content).html() == study_page(content).html()


def test_a_study_without_mixture_gallery_or_chance_has_a_page(content):
    bare = dataclasses.replace(
        content,
        chance=None,
        reader_importance=None,
        hits=(),
        misses=(),
        comparisons=(),
        models=content.models[1:],
        by_size=content.by_size.iloc[:0],
        quarantined=content.quarantined.iloc[:0],
    )
    text = study_page(bare).html()
    assert "Importance of the readers" not in text
    assert "every image of the study was read and used" in text


def test_the_level_of_the_study_stands_everywhere_and_the_size_table_names_its_target(page):
    text = page.read_text(encoding="utf-8")
    for told in ("(90 %: ", "Intervals are 90 %", "Bands: 90 % intervals", "90 % interval</th>"):
        assert told in text
    assert "at the threshold for 1.5 FP per image" in text

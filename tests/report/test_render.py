"""The study's page: what it says, that names are text, and how a real browser shows it."""

import csv
import json
import re
import shutil
import subprocess
from base64 import b64decode
from dataclasses import replace
from io import StringIO
from urllib.parse import unquote

import numpy as np
import pytest
from markdown_it import MarkdownIt
from markupsafe import escape
from parsed_page import parse_page

from overread.files import from_json, to_json
from overread.froc import format_table
from overread.report import (
    Description,
    Pictures,
    Quarantined,
    RunHead,
    Spread,
    StudyResults,
    Subgroup,
    draw_figures,
    render_groups,
    render_study,
    write_latex,
    write_model_card,
)
from overread.report._cards import link_model_card
from overread.report._render import link_csv, read_cells_of_table
from overread.report._words import FEW_IN_GROUP, give_answer

PHONE, DESK = 390, 1400
EVIL = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">"
# Short, because figures give a reader's name little room; the dollar signs would begin a formula that is none.
EVIL_READER = "<b>$\\frac$-->"
SECTIONS = [
    "Summary", "Intended use and data", "Flow of images", "Performance on unseen patients", "Groups of images",
    "Gallery of the test set", "The paper's claims", "Calibration", "Readers", "Merged objects", "Features",
    "Choice of settings", "Results as in the paper", "CLAIM checklist",
]  # fmt: skip


@pytest.fixture(scope="module")
def parsed(page):
    return parse_page(page)


def test_outlines_are_drawn_in_the_crop_s_own_millimetres(page, pictures):
    for crop in pictures.hits:
        e, (x, y, radius) = crop.ellipse, crop.circle
        place = f'cx="{e.x - crop.left:.2f}" cy="{e.y - crop.top:.2f}"'
        assert f'<ellipse {place} rx="{e.semi_major:.2f}" ry="{e.semi_minor:.2f}"' in page
        assert f'<circle cx="{x - crop.left:.2f}" cy="{y - crop.top:.2f}" r="{radius:.2f}"' in page
    assert page.count('<image href="data:image/png;base64,') >= 8 + 1 + 2


def test_stored_results_give_the_same_page_and_the_same_figures(results, figures, pictures, page, head):
    again = from_json(StudyResults, json.loads(json.dumps(to_json(results), allow_nan=False)))
    stored = from_json(Pictures, json.loads(json.dumps(to_json(pictures), allow_nan=False)))
    drawn = draw_figures(again, stored)
    assert drawn == figures
    assert render_study(again, drawn, stored, head) == page


def hostile(results):
    """The same study with a hostile name wherever data name something."""
    evil_pairs = results.readers.pairs.assign(reader_a=EVIL)
    evil_readers = results.readers.readers.assign(
        reader_id=EVIL_READER + results.readers.readers["reader_id"]
    )
    models = [
        replace(
            model,
            title=EVIL_READER + model.title,
            summary=EVIL,
            importance_is=EVIL,
            features=[replace(one, name=EVIL, meaning=EVIL, words=EVIL) for one in model.features],
        )
        for model in results.models
    ]

    def rename(table):
        return replace(table, models=tuple(replace(model, name=EVIL) for model in table.models))

    paper = replace(
        results.paper,
        of_reached=rename(results.paper.of_reached),
        of_all=rename(results.paper.of_all),
        training={EVIL: results.paper.training["Soft"]},
        test={EVIL: results.paper.test["Soft"]},
    )
    examples = [
        replace(
            one,
            image_id=EVIL_READER,
            marks=one.marks.assign(image_id=EVIL_READER, reader_id=EVIL_READER + one.marks["reader_id"]),
            objects=one.objects.assign(image_id=EVIL_READER),
        )
        for one in results.examples
    ]
    return replace(
        results,
        rule=EVIL,
        version=EVIL,
        readers=replace(results.readers, pairs=evil_pairs, readers=evil_readers),
        study=replace(
            results.study,
            is_simulated=False,
            quarantined=[Quarantined(EVIL, "unreadable", EVIL)],
            found=replace(results.study.found, left_out={EVIL: 3}),
            description=Description({EVIL: Spread(1, 2, 3)}, {EVIL: {EVIL: 3}}),
        ),
        subgroups=[Subgroup(EVIL, one.table.assign(stratum=EVIL)) for one in results.subgroups],
        models=models,
        table=rename(results.table),
        paper=paper,
        examples=examples,
    )


def test_names_from_the_data_are_text_and_not_markup(results, pictures):
    evil = hostile(results)
    crops = [replace(crop, caption=EVIL) for crop in pictures.hits]
    shown = replace(
        pictures,
        hits=crops,
        examples={EVIL_READER: next(iter(pictures.examples.values()))},
        features={EVIL: crops[:2]},
    )
    html = render_study(evil, draw_figures(evil, shown), shown, RunHead(EVIL, EVIL, EVIL, EVIL))
    parsed = parse_page(html)
    tags = [tag for tag, _ in parsed.elements]
    assert "img" not in tags
    # The cards, the boxes of the flow and what they leave out, the answers, the features told in words.
    assert tags.count("b") == 4 + 6 + 3 + 5 + 5 + 2
    assert tags.count("script") == 3  # the explorer's numbers, the script that shows them, that of the page
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert parsed.sections["Flow of images"].tables[0][1] == [EVIL, EVIL]


def test_the_page_loads_nothing(parsed):
    policy = [a["content"] for tag, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policy) == 1
    assert policy[0].startswith("default-src 'none'; ")
    links = [a[name] for _, a in parsed.elements for name in ("src", "href", "xlink:href") if name in a]
    known = ("#", "data:image/png;base64,", "data:text/csv;", "data:text/markdown;", "data:text/x-tex;")
    assert [link for link in links if not link.startswith(known)] == []


@pytest.fixture(scope="module")
def address(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "index.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def open_page(browser, address, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    browser.get_log("browser")
    browser.get(address)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_browser_shows_it_without_errors_or_sideways_scrolling(browser, address, width):
    open_page(browser, address, width)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height])"
    )
    # Drawn figures, panels, crops of the gallery and of features; model Noisy reads two features of Soft's.
    assert len(sizes) == 7 + 2 + (8 + 1 + 2) + 2 * (5 + 2)
    assert np.min(sizes) > 100
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []


def test_nothing_has_to_be_dragged_on_a_phone(browser, address):
    open_page(browser, address, PHONE)
    browser.execute_script("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    too_wide = browser.execute_script(
        "return [...document.querySelectorAll('.scroll, figure, .flow, table')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40))"
    )
    assert too_wide == []


def test_contents_stay_in_sight_beside_the_page_on_a_desk(browser, address):
    open_page(browser, address, DESK)
    for place in (0, 3000, 99999):
        browser.execute_script("scrollTo(0, arguments[0])", place)
        box, text = browser.execute_script(
            "return [document.querySelector('nav').getBoundingClientRect().toJSON(),"
            " document.querySelector('main').getBoundingClientRect().left]"
        )
        assert 0 <= box["top"] < 60
        assert box["right"] <= text
    links = browser.execute_script(
        "return [...document.querySelectorAll('nav a')].map(a => a.offsetHeight > 0)"
    )
    assert links == [True] * len(SECTIONS)


def test_contents_on_a_phone_are_a_bar_that_opens_and_closes(browser, address):
    from selenium.webdriver.common.by import By

    open_page(browser, address, PHONE)
    browser.execute_script("scrollTo(0, 3000)")
    nav = "return document.querySelector('nav').getBoundingClientRect().toJSON()"
    assert browser.execute_script(nav)["top"] == 0
    assert browser.execute_script(nav)["height"] < 60
    browser.find_element(By.CSS_SELECTOR, "nav label").click()
    link = browser.find_elements(By.CSS_SELECTOR, "nav a")[-1]
    assert link.is_displayed()
    link.click()
    assert not link.is_displayed()
    heading = browser.find_element(By.ID, f"s{len(SECTIONS)}")
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", heading)
    assert browser.execute_script(nav)["height"] - 1 <= top <= 900


def test_on_paper_nothing_is_folded_away(browser, address, tmp_path):
    """The text of the printed page is that of every part, folded or not; no sheet is nearly empty but the last."""
    open_page(browser, address, DESK)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    (tmp_path / "page.pdf").write_bytes(b64decode(printed["data"]))
    sheets = read_sheets(tmp_path)
    text = " ".join(" ".join(sheets).split())
    folded = browser.execute_script(
        "return [...document.querySelectorAll('details')].map(d => [...d.querySelectorAll('td:first-child')]"
        ".map(c => c.textContent.trim()).filter(t => t.length > 2).slice(0, 3)).flat()"
    )
    assert len(folded) >= 12
    squeezed = re.sub(r"\s", "", text)
    assert [cell for cell in folded if re.sub(r"\s", "", cell) not in squeezed] == []
    assert "Contents" not in text
    # A heading is followed by something on its own sheet.
    for sheet in sheets[:-1]:
        last = [line.strip() for line in sheet.splitlines() if line.strip()][-1]
        assert last not in {*SECTIONS, "Table 1", "Chance"}
    # The page opens its folded parts for the printer alone.
    assert browser.execute_script("return document.querySelectorAll('details[open]').length") == 0


def read_sheets(folder):
    """Text of each sheet, by Ghostscript; its absence skips a test, but fails it under CI."""
    if shutil.which("gs") is None:
        pytest.skip("needs gs")
    command = ["gs", "-q", "-dSAFER", "-dNOPAUSE", "-dBATCH", "-sDEVICE=txtwrite"]
    subprocess.run([*command, f"-sOutputFile={folder}/%03d.txt", f"{folder}/page.pdf"], check=True)
    return [sheet.read_text(encoding="utf-8", errors="replace") for sheet in sorted(folder.glob("*.txt"))]


def test_a_table_is_saved_by_its_link(browser, address, tmp_path):
    from selenium.webdriver.common.by import By

    open_page(browser, address, DESK)
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    link = browser.find_element(By.CSS_SELECTOR, 'a[download="performance.csv"]')
    browser.execute_script("arguments[0].click()", link)
    saved = tmp_path / "performance.csv"
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 30).until(lambda _: saved.is_file())
    shown = browser.execute_script(
        "return [...arguments[0].closest('.saved').querySelectorAll('tr')]"
        ".map(r => [...r.cells].map(c => c.textContent))",
        link,
    )
    rows = list(csv.reader(StringIO(saved.read_text(encoding="utf-8-sig"), newline="")))
    assert [row[:1] for row in rows] == [[" ".join(cell.split()) for cell in row[:1]] for row in shown]


def test_panels_stand_side_by_side_on_a_desk_and_below_each_other_on_a_phone(browser, address):
    tops = {}
    for width in (PHONE, DESK):
        open_page(browser, address, width)
        tops[width] = browser.execute_script(
            "return [...document.querySelectorAll('svg.panel')].map(s => s.getBoundingClientRect().top)"
        )
    assert tops[DESK][0] == tops[DESK][1]
    assert tops[PHONE][1] - tops[PHONE][0] > 200


def test_the_operating_point_follows_the_slider(browser, address, results):
    open_page(browser, address, DESK)
    for step in (10, 50):
        browser.execute_script(
            "const s = document.querySelector('.explorer input[type=range]'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            step,
        )
        cells = browser.execute_script(
            "return [...document.querySelectorAll('.explorer tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
        )
        for row, model in zip(cells, results.models, strict=True):
            band = model.counted[0].test.band
            here = band[np.isclose(band["fp_target"], step * 0.05)].set_index("measure")
            assert row[0] == model.title
            assert float(row[1]) == pytest.approx(here["threshold"].iloc[0], rel=1e-3)
            assert row[2] == f"{here['estimate']['fp_per_image']:.2f}"
            for cell, measure in zip(row[3:], ("gt_sensitivity", "image_sensitivity"), strict=True):
                numbers = [float(number) for number in re.findall(r"[\d.]+", cell)]
                wanted = 100 * here.loc[measure, ["estimate", "lower", "upper"]].to_numpy(float)
                assert numbers == pytest.approx(wanted, abs=0.051)


def test_the_operating_point_follows_the_pointer_on_either_panel(browser, address):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    open_page(browser, address, DESK)
    for svg in browser.find_elements(By.CSS_SELECTOR, "svg.panel"):
        seen = []
        for offset in (-0.3, 0.2):
            ActionChains(browser).scroll_to_element(svg).move_to_element_with_offset(
                svg, int(offset * svg.size["width"]), 0
            ).perform()
            seen.append(float(browser.find_element(By.CSS_SELECTOR, ".explorer output").text))
        assert 0.1 < seen[0] < 1.2
        assert 1.8 < seen[1] < 3.0


def test_training_and_validation_are_shown_on_demand(browser, address):
    from selenium.webdriver.common.by import By

    open_page(browser, address, DESK)
    lines = browser.find_elements(By.CSS_SELECTOR, ".explorer polyline")
    toggle = browser.find_element(By.CSS_SELECTOR, ".legend input")
    assert [line.is_displayed() for line in lines] == [False, True] * 4
    browser.execute_script("arguments[0].click()", toggle)
    assert [line.is_displayed() for line in lines] == [True] * 8
    widths = [float(line.get_attribute("stroke-width")) for line in lines]
    assert (
        widths[0] < widths[1] > widths[3] > widths[2]
    )  # the detector's is the boldest, what was fitted the thinnest
    assert [bool(line.get_attribute("stroke-dasharray")) for line in lines] == [True, False] * 4


TONES = {"among readers": "good", "below readers": "limited", "chance": "bad", "too small": "unsure"}


def test_the_answer_is_seen_first_with_a_colour_and_a_sign_of_its_own(
    browser, results, figures, pictures, head, tmp_path
):
    seen = {}
    for grade, tone in TONES.items():
        judged = replace(results, verdict=replace(results.verdict, grade=grade))
        path = tmp_path / f"{tone}.html"
        path.write_text(render_study(judged, figures, pictures, head), encoding="utf-8")
        open_page(browser, path.as_uri(), PHONE)
        top, colour, sign, text = browser.execute_script(
            "const box = document.querySelector('.verdict'), line = box.querySelector('.answer');"
            "return [box.getBoundingClientRect().top, getComputedStyle(box).borderLeftColor,"
            " getComputedStyle(line, '::before').content, line.textContent]"
        )
        assert top < 250  # below the name of the study and the bar of contents
        assert text == give_answer(judged).headline.replace(" %", "\N{NO-BREAK SPACE}%")
        seen[tone] = (colour, sign)
    colours, signs = zip(*seen.values(), strict=True)
    assert len(set(colours)) == len(set(signs)) == 4
    assert signs == ('"\u2713"', '"!"', '"\u2715"', '"?"')


def saved_rows(link: str) -> list[list[str]]:
    (address,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', link)
    return list(csv.reader(StringIO(unquote(address).removeprefix("\ufeff"), newline="")))


def test_cells_are_saved_as_they_are_and_no_spreadsheet_runs_one():
    rows = [["a", "b, c"], ["1.5", 'say "x"'], ["-2.5", "<b>&amp;"]]
    assert saved_rows(link_csv(rows, "t")) == rows
    assert saved_rows(link_csv([["=1+1", "+0.5 to +0.7", "-0.5", "@x"]], "t")) == [
        ["'=1+1", "'+0.5 to +0.7", "-0.5", "'@x"]
    ]


def test_a_name_of_the_data_ends_no_attribute():
    evil = '"><script>'
    link = link_csv([[evil]], evil)
    assert f'download="{escape(evil)}.csv"' in link
    assert link.count("<") == 2
    assert saved_rows(link) == [[evil]]


def test_cells_of_a_table_are_its_texts():
    html = "<table><tr><th>a\n b</th><th class=words></th></tr>x<tr><td>1 &lt; 2<b>!</b></td><td>3</td></tr></table>"
    assert read_cells_of_table(html) == [["a b", ""], ["1 < 2!", "3"]]


def test_every_table_of_the_page_can_be_saved(page, results):
    boxes = re.findall(r'<div class="saved">(.*?)(<a class="csv"[^<]*CSV</a>)', page, flags=re.DOTALL)
    assert len(boxes) == page.count("<table")
    names = re.findall(r'class="csv" download="(.*?)"', page)
    assert len(set(names)) == len(names) == len(boxes)
    for box, link in boxes:
        if 'download="froc.csv"' in link:
            continue
        (section,) = parse_page(f"<h2></h2>{box}").sections.values()
        shown = [[" ".join(cell.split()) for cell in row] for row in section.tables[0]]
        assert [[cell.removeprefix("'") for cell in row] for row in saved_rows(link)] == shown


def test_table_1_is_saved_as_latex_too(page, results):
    links = dict(
        re.findall(r'<a class="tex" download="(.*?)" href="data:text/x-tex;charset=utf-8,(.*?)">', page)
    )
    wanted = {
        "performance.tex": results.table,
        "table_1_paper.tex": results.paper.of_reached,
        "table_1_paper_all.tex": results.paper.of_all,
    }
    assert {name: unquote(text) for name, text in links.items()} == {
        name: format_table(table, "latex") for name, table in wanted.items()
    }
    whole = write_latex(results)
    assert all(format_table(table, "latex") in whole for table in wanted.values())
    assert whole.count(r"\begin{table}") == whole.count(r"\end{table}") == 3
    assert whole.count("{") == whole.count("}")


def test_the_curves_are_saved_at_all_steps(page, results):
    (link,) = re.findall(r'<a class="csv" download="froc.csv".*?</a>', page)
    header, *rows = saved_rows(link)
    band = results.models[1].counted[0].test.band
    assert len(rows) == 61 * len(results.models)
    for row in (rows[61 + 20], rows[61 + 47]):
        told = dict(zip(header, row, strict=True))
        here = band[(band["fp_target"] - float(told["fp_target"])).abs() < 1e-9].set_index("measure")
        assert told["model"] == "Noisy"
        assert abs(float(told["gt_sensitivity"]) - here.loc["gt_sensitivity", "estimate"]) < 1e-5
        assert abs(float(told["gt_sensitivity_lower"]) - here.loc["gt_sensitivity", "lower"]) < 1e-5


def list_headings(html):
    return re.findall(r"<h2 [^>]*>(.*?)</h2>", html)


def test_every_group_has_the_chapters_of_its_own_page_and_ids_are_unique(parts, page):
    html = render_groups(parts, run="main")
    own = list_headings(page)
    assert list_headings(html) == ["Groups", *own * len(parts)]
    named = [attributes["href"] for tag, attributes in parse_page(html).elements if tag == "a"]
    places = [attributes["id"] for _, attributes in parse_page(html).elements if "id" in attributes]
    inside = [name.removeprefix("#") for name in named if name.startswith("#")]
    assert len(inside) == len(set(inside)) == 1 + len(parts) * (1 + len(own))
    assert all(places.count(name) == 1 for name in inside)


def test_a_small_group_is_not_judged(results, head):
    (first, *_) = results.subgroups
    table = first.table.assign(n_gts=FEW_IN_GROUP - 1)
    card = write_model_card(replace(results, subgroups=[Subgroup("sex", table)]), head)
    assert card.count("too few to judge") == len(table)


def test_names_are_text(results, head):
    evil = "</table><script>alert(1)</script>| [x](javascript:y)\n# No"
    card = write_model_card(results, replace(head, study=evil))
    html = MarkdownIt("commonmark").enable("table").render(card)
    assert "<script" not in html
    assert "<a " not in html
    assert html.count("<h1>") == 1
    assert "alert(1)" in html


def test_the_page_s_link_saves_the_very_card(page, results, head):
    link = link_model_card(results, head)
    assert str(link) in page
    (address,) = re.findall(r'href="data:text/markdown;charset=utf-8,([^"]+)"', link)
    assert unquote(address) == write_model_card(results, head)

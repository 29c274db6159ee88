"""Tables as CSV within the page: what is shown is what is saved."""

from __future__ import annotations

import csv
import re
from io import StringIO
from urllib.parse import unquote

from markupsafe import escape
from parsed_page import parse_page

from overread.report._render import link_csv, read_cells_of_table


def saved_rows(link: str) -> list[list[str]]:
    (address,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', link)
    return list(csv.reader(StringIO(unquote(address).removeprefix("\ufeff"), newline="")))


def test_cells_are_saved_as_they_are():
    rows = [["a", "b, c"], ["1.5", 'say "x"'], ["-2.5", "<b>&amp;"]]
    assert saved_rows(link_csv(rows, "t")) == rows


def test_no_spreadsheet_runs_a_cell():
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
    boxes = re.findall(r'<div class="saved">(.*?)(<a class="csv".*?</a>)</div>', page, flags=re.DOTALL)
    assert len(boxes) == page.count("<table")
    names = re.findall(r'class="csv" download="(.*?)"', page)
    assert len(set(names)) == len(names) == len(boxes)
    for box, link in boxes:
        if 'download="froc.csv"' in link:
            continue
        (section,) = parse_page(f"<h2></h2>{box}").sections.values()
        shown = [[" ".join(cell.split()) for cell in row] for row in section.tables[0]]
        assert [[cell.removeprefix("'") for cell in row] for row in saved_rows(link)] == shown


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

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd

from overread.report import Pictures, draw_figures


def test_each_figure_is_an_svg_document(figures):
    assert list(figures) == ["readers", "marks", "choice", "paper_choice", "importance", "calibration"]
    for document in figures.values():
        assert ElementTree.fromstring(document).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_same_results_give_the_same_bytes_and_ids_differ_between_figures(results, pictures, figures):
    assert draw_figures(results, pictures) == figures
    clips = [
        {one.get("id") for one in ElementTree.fromstring(document).iter() if one.tag.endswith("clipPath")}
        for document in figures.values()
    ]
    assert sum(map(len, clips)) == len(set().union(*clips))


def test_what_the_results_lack_is_not_drawn(results):
    models = [replace(model, reader_importance=pd.DataFrame()) for model in results.models]
    bare = replace(results, paper_choice=None, examples=[], models=models)
    assert list(draw_figures(bare, Pictures())) == ["readers", "choice", "calibration"]


def test_an_example_without_pixels_is_drawn_on_plain_ground(results, figures):
    plain = draw_figures(replace(results, paper_choice=None), Pictures())["marks"]
    assert "<image" in figures["marks"]
    assert "<image" not in plain

from xml.etree import ElementTree

from test_results import PER_READER_DESIGN as DESIGN
from test_results import fall
from test_results import make_reader_points as make_points

from overread.apps.scenario._figures import (
    _draw_equal_performance,
    _draw_growth,
    _draw_per_reader,
    _draw_rules,
    draw_scenario,
)
from overread.apps.scenario._results import sum_up_points


def test_every_figure_is_a_whole_drawing(done):
    drawn = draw_scenario(done)
    assert set(drawn) == {"growth", "shares", "rules", "equal"}
    for document in drawn.values():
        assert ElementTree.fromstring(document).tag.endswith("svg")


def test_the_growth_has_a_line_for_each_number_of_readings_and_each_model(done):
    left, right = _draw_growth(done).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "1 reading",
        "2 readings",
        "4 readings",
    ]
    assert len(right.get_legend().get_texts()) == 3


def test_the_rules_have_a_panel_each_and_a_row_a_condition(done):
    panels = _draw_rules(done.comparisons).axes
    assert len(panels) == 2
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [
        "40 x 2",
        "80 x 2",
        "40 x 4",
        "80 x 4",
    ]


def test_lines_of_equal_performance_mark_the_best_of_each_budget(done):
    results = done
    own = results.sensitivity.query("model == 'soft' and judge == 'known' and fp_per_image == 'mean'")
    surface = own.pivot(index="readings", columns="images", values="estimate")
    axes = _draw_equal_performance(surface, results.budgets).axes[0]
    best = axes.collections[-1].get_offsets()
    wanted = results.budgets[results.budgets["is_best"]][["images", "readings"]]
    assert {tuple(point) for point in best.tolist()} == {tuple(map(float, row)) for row in wanted.to_numpy()}


def test_few_images_of_a_reader_are_drawn_against_soft():
    left, right = _draw_per_reader(sum_up_points(make_points(fall), DESIGN, None)).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["Soft", "Dawid-Skene labels"]
    assert [label.get_text() for label in right.get_xticklabels()] == ["10", "20", "all"]
    line = next(one for one in right.lines if len(one.get_xdata()) == 3)
    assert line.get_ydata()[0] < -5 < line.get_ydata()[1]

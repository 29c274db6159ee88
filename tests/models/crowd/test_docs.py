"""The blocks of docs/explanation/crowd_models.md run one after the other."""

from page_code import run_page


def test_the_page_runs(tmp_path):
    names = run_page("explanation/crowd_models.md", {"folder": tmp_path})
    assert len(names["probability"]) == len(names["bags"])
    assert names["labelled"]["probability"].between(0, 1).all()
    assert names["soft"].fit_report_.converged
    assert names["crowd"].converged_
    assert names["raykar"].converged_

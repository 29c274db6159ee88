"""What results.json says the study is made of, counted again from its tables."""

from itertools import combinations

import pandas as pd

from overread.files import to_json
from overread.report import StudyResults
from overread.study import Run
from overread.study._settings import leave_out_unused
from study_chain import Chain


def test_counts_of_the_study(run: Run, results: StudyResults, chain: Chain) -> None:
    marks, readings = pd.read_csv(chain.study / "marks.csv"), pd.read_csv(chain.study / "readings.csv")
    study = results.study
    assert (study.n_images, study.n_patients) == (36, 18)
    assert (study.n_marks, study.n_readings) == (len(marks), len(readings))
    assert study.n_readers == readings["reader_id"].nunique()
    truth, images = run.table("truth"), run.table("images")
    assert study.n_golden == int((truth["n_readers"] >= 2).sum())
    for part in study.splits:
        inside = images.loc[images["split"] == part.name, "image_id"]
        assert part.n_images == len(inside)
        assert part.n_golden == int((truth["image_id"].isin(inside) & (truth["n_readers"] >= 2)).sum())
    patients = [set(images.loc[images["split"] == part.name, "patient_id"]) for part in study.splits]
    assert all(one.isdisjoint(other) for one, other in combinations(patients, 2))


def test_settings_are_those_that_matter(chain: Chain, results: StudyResults) -> None:
    plain = leave_out_unused(chain.settings.to_plain())
    assert results.settings == {
        name: value for name, value in plain.items() if name not in ("limits", "execution", "name")
    }


def test_quarantined_images_are_told(chain: Chain) -> None:
    lost = [{"image_id": "case 099", "kind": "image", "reason": "is not an image"}]
    (made,) = chain.call("results", quarantined=lost).values()
    assert to_json(made.study.quarantined) == lost


def test_decisions_of_a_chair_are_counted(chain: Chain, results: StudyResults) -> None:
    assert results.study.decisions == {}
    said = pd.DataFrame({"decision": ["lesion", "not", "lesion", "open"]})
    (made,) = chain.call("results", **{"input/adjudication": said}).values()
    assert made.study.decisions == {"lesion": 2, "not": 1, "unsure": 0, "open": 1}

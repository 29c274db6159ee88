from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from small_scenario import small_design

from overread.apps.scenario import _material as material_module
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import draw_seed, make_training_set
from overread.apps.scenario._material import prepare_material
from overread.errors import InvalidInputError
from overread.simulate import cohort, law_for_readers
from overread.study import Run, find_study_candidates
from study_stand_in import FEATURES, LIGHT, make_study, spec


def test_test_patients_are_not_trained_on(material, design):
    assert len(material.test_ids) == design.source.test
    assert not set(material.test_ids) & set(material.training_ids)
    assert len(material.test_ids) + len(material.training_ids) == design.source.cohort


def test_objects_are_lesions_and_look_alikes_with_a_level(material):
    levels = material.objects.groupby("is_lesion")["level"].mean()
    assert levels[True] > levels[False]


def test_a_study_that_nobody_simulated_is_refused(tmp_path):
    pd.DataFrame({"image_id": ["a"]}).to_csv(tmp_path / "images.csv")
    design = small_design(source={"kind": "study", "study": str(tmp_path)})
    with pytest.raises(InvalidInputError, match='For your data use kind = "run"'):
        prepare_material(design, tmp_path)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A study of small pictures with real marks, of which candidates and features are found as a run does."""
    study = make_study(tmp_path_factory.mktemp("stand in") / "study", n_images=24, settings=LIGHT)
    report = find_study_candidates(study, pipeline=spec())
    assert report.done[-1] == "candidates"
    assert not list((study / "runs" / "main" / "models").iterdir())
    return report.folder


def test_candidates_are_found_once(stand_in):
    again = find_study_candidates(stand_in.parent.parent, pipeline=spec())
    assert again.done == []
    assert Run(stand_in).cohort.features.store.shape[1] == len(FEATURES)


def test_a_run_of_your_own_keeps_its_readers_and_its_test_set(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(material_module, "open_run", Run)
    design = small_design(
        source={"kind": "run", "run": str(stand_in), "candidates": 5, "features": 4},
        grid={"images": [4], "readings": [1, 4]},
    )
    material = prepare_material(design, tmp_path)
    cohort = Run(stand_in).cohort
    assert set(material.test_ids) == set(cohort.split("test").images["image_id"])
    counts = cohort.readings["image_id"].value_counts()
    assert (counts[material.training_ids] >= 4).all()
    assert material.objects is None
    assert material.features.store.shape == (len(material.candidates), 4)
    assert material.candidates["image_id"].value_counts().max() <= 5
    # The strongest candidates are kept, with their own features.
    first = material.candidates.iloc[0]
    own = cohort.candidates.query("image_id == @first.image_id")
    assert first["response"] in own["response"].nlargest(5).to_numpy()
    row = cohort.features.find_rows(np.array([first["image_id"]]), np.array([first["candidate_id"]]))
    np.testing.assert_array_equal(
        material.features.read(material.features.names).iloc[0],
        cohort.features.read(material.features.names).iloc[row[0]],
    )


def test_too_few_images_are_told(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(material_module, "open_run", Run)
    design = small_design(
        source={"kind": "run", "run": str(stand_in)}, grid={"images": [1000], "readings": [2]}
    )
    with pytest.raises(InvalidInputError, match="1000 training images are wanted"):
        prepare_material(design, tmp_path)


def test_a_simulated_study_gives_its_nodules_and_distractors(stand_in, tmp_path, monkeypatch):
    study = stand_in.parent.parent
    monkeypatch.setattr(
        material_module, "find_study_candidates", partial(find_study_candidates, pipeline=spec())
    )
    (study / "known").mkdir(exist_ok=True)
    (study / "known" / "simulation.json").write_text("{}")
    (study / "known" / "nodules.csv").write_text(
        "image_id,nodule_id,x_mm,y_mm,diameter_mm,conspicuity\ncase 001,N1,50,50,10,2.0\ncase 002,N1,60,60,10,0.5\n"
    )
    (study / "known" / "distractors.csv").write_text(
        "image_id,object_id,x_mm,y_mm,diameter_mm,level\ncase 001,D1,90,90,12,-1.5\n"
    )
    design = small_design(
        source={"kind": "study", "study": str(study), "test": 6}, grid={"images": [10], "readings": [2]}
    )
    material = prepare_material(design, tmp_path)
    assert len(material.test_ids) >= 6
    patients = material.images.groupby("patient_id")["is_test"].nunique()
    assert (patients == 1).all()
    objects = material.objects.set_index(["image_id", "object_id"])
    assert objects["is_lesion"].tolist() == [True, True, False]
    assert objects.loc[("case 001", "D1"), "level"] == -1.5
    assert objects.loc[("case 001", "N1"), "level"] > objects.loc[("case 002", "N1"), "level"]


def test_whole_readers_of_a_run_are_left_out(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(material_module, "open_run", Run)
    own = {
        "source": {"kind": "run", "run": str(stand_in), "features": 4},
        "readers": {"leave_out": "readers"},
    }
    design = small_design(**own, grid={"images": [8], "readings": [1, 2, 4]})
    material = prepare_material(design, tmp_path)
    drawn = draw_seed(material, design, 0)
    sets = [make_training_set(material, drawn, Condition(8, k), design) for k in (1, 2, 4)]
    readers = [set(one.readings["reader_id"]) for one in sets]
    assert [len(names) for names in readers] == [1, 2, 4]
    assert readers[0] < readers[1] < readers[2]
    with pytest.raises(InvalidInputError, match="99 readers should be kept, but the run has"):
        prepare_material(small_design(**own, grid={"images": [4], "readings": [99]}), tmp_path)


def test_simulated_radiographs_go_through_the_stages_of_a_run(tmp_path):
    law = replace(law_for_readers(4), distractors=2.0)
    study = cohort(tmp_path / "study", n_images=6, law=law, format="png")
    design = small_design(
        source={"kind": "study", "study": str(study), "test": 2, "features": 0},
        grid={"images": [3], "readings": [2]},
    )
    material = prepare_material(design, tmp_path)
    assert len(material.images) == 6
    assert material.candidates["image_id"].nunique() == 6
    assert "(study)" in material.words
    assert len(pd.read_csv(study / "known" / "nodules.csv")) == material.objects["is_lesion"].sum()
    assert (~material.objects["is_lesion"]).sum() >= 4
    assert material.objects["level"].notna().all()
    assert material.objects["image_id"].isin(material.images["image_id"]).all()
    assert np.isfinite(material.features.read(material.features.names).to_numpy()).all()

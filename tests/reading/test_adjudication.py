import pytest

from overread.apps.room._adjudication import complete_images, complete_readings
from overread.apps.room._people import add_person
from overread.tables import read_table
from overread.truth import apply_adjudication, merge_marks, read_adjudication
from reading_room import MM


@pytest.fixture
def disputed(open_one):
    """All three mark (20, 30) of case0; Anna alone marks (60, 40) too; nobody marks case1."""
    room = open_one(2, readers=("Anna", "Ben", "Cleo"))
    for name in ("Anna", "Ben", "Cleo"):
        visitor = room.visit(name)
        item = room.item_of(name, "case0")
        visitor.draw(item, 20, 30)
        if name == "Anna":
            visitor.draw(item, 60, 40, label="mass")
        visitor.do(item, "lock")
        visitor.pass_over(room.item_of(name, "case1"))
    return room


def test_only_complete_images_are_compared(open_one):
    room = open_one(2)
    room.finish("Anna", ["case0"], mark=False)
    assert complete_images(room.room.store) == []
    room.finish("Ben", ["case0"], mark=False)
    assert complete_images(room.room.store) == ["case0"]
    room.finish("Anna", ["case1"], mark=False)
    assert len(complete_readings(room.room.store).readings) == 2


def test_a_chair_sees_disputed_objects_without_names(disputed):
    chair = disputed.visit("Chair")
    entries = chair.get("/api/adjudication")
    assert [entry["state"] for entry in entries] == ["open"]
    answer = chair.ask("GET", f"/api/adjudication/{entries[0]['object']}")
    told = answer.json()
    assert (told["n_readers"], told["n_marked"]) == (3, 1)
    assert [(round(mark["x"], 6), mark["label"]) for mark in told["marks"]] == [(60.0, "mass")]
    for name in ("Anna", "Ben", "Cleo", "case0"):
        assert name not in answer.text
    assert chair.ask("GET", f"/api/adjudication/{entries[0]['object']}/pixels").status_code == 200


def test_a_decision_is_a_table_of_its_own_and_truth_can_use_it(disputed):
    chair = disputed.visit("Chair")
    name = chair.get("/api/adjudication")[0]["object"]
    chair.act("PUT", f"/api/adjudication/{name}/decision", decision="not", comment="vessel")
    chair.act(
        "PUT", f"/api/adjudication/{name}/decision", decision="lesion", label="mass", comment="seen again"
    )
    assert chair.get(f"/api/adjudication/{name}")["decision"]["decision"] == "lesion"
    disputed.room.export()
    folder = disputed.room.folder
    marks, readings = (read_table(folder / f"{kind}.csv", kind) for kind in ("marks", "readings"))
    truth = merge_marks(marks, readings)
    assert truth["golden"].tolist() == [True, False]
    decided = apply_adjudication(truth, read_adjudication(folder / "adjudication.csv").frame)
    assert decided["golden"].tolist() == [True, True]
    assert decided["x_mm"].tolist() == pytest.approx([20 * MM, 60 * MM])
    logged = disputed.room.store.rows("SELECT body FROM log WHERE what = 'adjudicate'")
    assert len(logged) == 2


def test_chairs_decide_by_consensus(disputed):
    store = disputed.room.store
    disputed.secrets["Second"] = add_person(store, "Second", "chair")
    first, second = disputed.visit("Chair"), disputed.visit("Second")
    name = first.get("/api/adjudication")[0]["object"]
    first.act("PUT", f"/api/adjudication/{name}/decision", decision="lesion")
    assert disputed.room.adjudication.table().empty
    assert second.get(f"/api/adjudication/{name}")["decision"] is None
    second.act("PUT", f"/api/adjudication/{name}/decision", decision="not")
    assert disputed.room.adjudication.table()["decision"].tolist() == ["open"]
    second.act("PUT", f"/api/adjudication/{name}/decision", decision="lesion")
    table = disputed.room.adjudication.table()
    assert (table["decision"].tolist(), table["n_chairs"].tolist()) == (["lesion"], [2])


def test_other_decisions_and_objects_are_refused(disputed):
    chair = disputed.visit("Chair")
    name = chair.get("/api/adjudication")[0]["object"]
    for body in ({"decision": "maybe"}, {"decision": "lesion", "label": "x"}, {}):
        answer = chair.ask("PUT", f"/api/adjudication/{name}/decision", {"op": "op-000001", **body})
        assert answer.status_code == 422
    assert disputed.room.adjudication.table().empty
    for path in ("/api/adjudication/T0", "/api/adjudication/T0/pixels"):
        assert chair.ask("GET", path).status_code == 404

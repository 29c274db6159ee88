import json


def finish(room, name, images, mark):
    visitor = room.visit(name)
    for image in images:
        item = room.item_of(name, image)
        visitor.act("POST", f"/api/items/{item}/time", active_ms=4000, paused_ms=0)
        if mark:
            visitor.draw(item, 20, 30)
            visitor.act("POST", f"/api/items/{item}/lock")
        else:
            visitor.pass_over(item)


def test_the_owner_sees_progress_of_each(open_one):
    room = open_one(6)
    finish(room, "Anna", ["case0", "case1"], mark=True)
    room.visit("Ben").get(f"/api/items/{room.item_of('Ben', 'case0')}")
    told = room.visit("owner").get("/api/owner")
    assert told["readers"] == [
        {"name": "Anna", "done": 2, "total": 6, "begun": 0, "median_seconds": 4.0, "revoked": False},
        {"name": "Ben", "done": 0, "total": 6, "begun": 1, "median_seconds": None, "revoked": False},
    ]
    assert told["images"] == {"total": 6, "complete": 0}


def test_agreement_is_of_complete_images_only(open_one):
    """What Anna marked on images that Ben has not finished changes nothing of what the owner sees."""
    room = open_one(8)
    complete = [f"case{i}" for i in range(6)]
    finish(room, "Anna", complete, mark=True)
    finish(room, "Ben", complete[:3], mark=True)
    owner = room.visit("owner")
    assert owner.get("/api/owner")["agreement"] is None
    finish(room, "Ben", complete[3:], mark=False)
    before = owner.get("/api/owner")["agreement"]
    assert before["n_images"] == 6
    finish(room, "Anna", ["case6", "case7"], mark=True)
    assert owner.get("/api/owner")["agreement"] == before
    assert json.dumps(before)


def test_repeats_tell_how_a_reader_agrees_with_themselves(open_one):
    room = open_one(4, repeats=1, readers=("Anna", "Ben"))
    anna = room.visit("Anna")
    for item in anna.items():
        anna.pass_over(item)
    told = room.visit("owner").get("/api/owner")["repeats"]
    assert [(row["name"], row["n_images"], row["same"]) for row in told] == [("Anna", 1, 1)]

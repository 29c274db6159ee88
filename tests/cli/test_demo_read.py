import re

import pandas as pd

from overread.apps.room import _app as server
from overread.apps.room._room import open_room
from overread.cli import main
from overread.tables import write_table


def test_a_room_with_phantoms_readers_and_a_detector(tmp_path, capsys, monkeypatch):
    """All but the serving itself, which tests/cli/test_read.py does; given again it goes on with new links."""
    served = []
    monkeypatch.setattr(
        server, "serve", lambda room, *rest, **more: served.append(room.items.progress("Anna"))
    )
    rows = pd.DataFrame(
        {
            "image_id": "case00001",
            "candidate_id": ["a"],
            "x_mm": 90.0,
            "y_mm": 90.0,
            "radius_mm": 5.0,
            "score": 1.0,
        }
    )
    write_table(rows, tmp_path / "d.csv")
    command = ["demo-read", "-o", str(tmp_path / "room"), "--n-images", "2", "--port", "0"]
    command += ["--detector", str(tmp_path / "d.csv")]
    secrets = []
    for _ in range(2):
        assert main(command) == 0
        links = re.findall(
            r"^(\w+): http://127\.0\.0\.1:\d+/#s=(\S+)$", capsys.readouterr().out, flags=re.MULTILINE
        )
        assert [name for name, _ in links] == ["Anna", "Ben", "Cleo", "Chair", "owner"]
        secrets += [secret for _, secret in links]
    assert len(set(secrets)) == 10
    # Three training images, two to read, one of them twice.
    assert served == [{"done": 0, "total": 6}] * 2
    room = open_room(tmp_path / "room/study")
    assert room.plan.design == "sequential"
    assert not (tmp_path / "room/study/marks.csv").exists()
    assert room.store.rows("SELECT count(*) FROM detected")[0][0] == 2
    room.store.close()

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from overread.apps.room import _people as people
from overread.apps.room._people import add_person, end_session, enter, find_session, list_people, revoke
from overread.apps.room._store import Store
from overread.errors import UsageError


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "room.sqlite")
    yield opened
    opened.close()


def test_a_secret_opens_a_session_and_is_stored_nowhere(store, tmp_path):
    secret = add_person(store, "Anna", "reader")
    token, person = enter(store, secret)
    assert (person.name, person.role) == ("Anna", "reader")
    assert find_session(store, token) == person
    store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in stored
    assert token.encode() not in stored


def test_secrets_are_long_and_all_different(store):
    secrets = [add_person(store, f"reader {number}", "reader") for number in range(20)]
    assert len(set(secrets)) == 20
    assert min(map(len, secrets)) >= 43  # 256 bits in base64


@pytest.mark.parametrize("secret", ["", "x", "' OR 1=1 --", "%"])
def test_another_secret_opens_nothing(store, secret):
    add_person(store, "Anna", "reader")
    assert enter(store, secret) is None
    assert find_session(store, secret) is None


def test_a_revoked_link_ends_sessions_and_a_new_one_goes_on(store):
    secret = add_person(store, "Anna", "reader")
    token, _ = enter(store, secret)
    revoke(store, "Anna")
    assert find_session(store, token) is None
    assert enter(store, secret) is None
    again = add_person(store, "Anna", "reader")
    assert again != secret
    assert enter(store, again) is not None
    assert list_people(store, "reader") == ["Anna"]


def move_back(store, column, age):
    moved = (datetime.now(UTC) - age).isoformat(timespec="milliseconds")
    with store.transaction() as database:
        database.execute(f"UPDATE sessions SET {column} = ?", (moved,))


def test_sessions_end_after_a_day_and_after_a_long_pause(store):
    secret = add_person(store, "Anna", "reader")
    for column, age in (("created", people.LONGEST_SESSION), ("seen", people.LONGEST_PAUSE)):
        token, _ = enter(store, secret)
        move_back(store, column, age - timedelta(minutes=1))
        assert find_session(store, token) is not None
        move_back(store, column, age + timedelta(minutes=1))
        assert find_session(store, token) is None
        assert not store.rows("SELECT 1 FROM sessions")


def test_use_keeps_a_session_alive(store):
    token, _ = enter(store, add_person(store, "Anna", "reader"))
    move_back(store, "seen", timedelta(hours=7))
    assert find_session(store, token) is not None
    assert store.rows("SELECT seen FROM sessions")[0]["seen"][:16] == datetime.now(UTC).isoformat()[:16]


def test_leaving_ends_one_session_only(store):
    secret = add_person(store, "Anna", "reader")
    first, second = (enter(store, secret)[0] for _ in range(2))
    end_session(store, first)
    assert find_session(store, first) is None
    assert find_session(store, second) is not None


def test_proofs_of_origin_differ_by_session(store):
    secret = add_person(store, "Anna", "reader")
    assert enter(store, secret)[1].csrf != enter(store, secret)[1].csrf


@pytest.mark.parametrize("name", ["", " Anna", "Anna ", "A\nB", "x" * 65, "A\x00"])
def test_a_name_that_cannot_be_one_is_refused(store, name):
    with pytest.raises(UsageError, match="a name has 1 to 64"):
        add_person(store, name, "reader")


def test_a_name_that_is_taken_or_nearly_so_is_refused(store):
    add_person(store, "Anna", "reader")
    with pytest.raises(UsageError, match="has a link already"):
        add_person(store, "Anna", "reader")
    with pytest.raises(UsageError, match="there is 'Anna' already"):
        add_person(store, "anna", "reader")
    with pytest.raises(UsageError, match="is a reader already"):
        add_person(store, "Anna", "chair")
    with pytest.raises(UsageError, match="nobody of this name"):
        revoke(store, "Ben")

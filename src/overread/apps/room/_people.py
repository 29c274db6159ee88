"""Readers, chairs and the owner: personal links whose secrets are stored hashed, and sessions that end."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from overread.apps.room._store import Store, digest_text, log_event, timestamp
from overread.errors import UsageError
from overread.tables import likeness_of

# A working day with breaks; a session that nobody uses ends sooner. Set by judgement.
LONGEST_SESSION = timedelta(hours=24)
LONGEST_PAUSE = timedelta(hours=8)
# How late the note of a session's last use may be: a write at each request would wait for the device.
SEEN_EVERY = timedelta(minutes=5)
LONGEST_NAME = 64
# 256 bits, which nobody guesses; therefore a plain digest keeps them, where a password would need a slow one.
SECRET_BYTES = 32


@dataclass(frozen=True)
class Person:
    """Somebody who entered, and what proves that a request comes from the page and no other site."""

    name: str
    role: str
    csrf: str


def add_person(store: Store, name: str, role: str) -> str:
    """Make a reader, a chair or the owner and return the secret of their link, which is told only here.

    Somebody whose link was revoked gets a new one, and goes on with the same worklist.
    """
    if not name or not name.isprintable() or name != name.strip() or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r}: a name has 1 to {LONGEST_NAME} printable characters and no spaces around"
        )
    secret = secrets.token_urlsafe(SECRET_BYTES)
    with store.transaction() as database:
        for known, known_role, known_secret in database.execute("SELECT person, role, secret FROM people"):
            if likeness_of(known) != likeness_of(name):
                continue
            if known != name:
                raise UsageError(f"{name!r}: there is {known!r} already; spell them alike")
            if known_role != role:
                raise UsageError(f"{name!r}: is a {known_role} already; give the {role} another name")
            if known_secret is not None and role != "owner":
                raise UsageError(f"{name!r}: has a link already (a new one: --revoke {name!r} first)")
        database.execute(
            "INSERT INTO people VALUES (?, ?, ?, ?, NULL) ON CONFLICT (person) DO UPDATE SET secret = excluded.secret, "
            "revoked = NULL",
            (name, role, digest_text(secret), timestamp()),
        )
        database.execute("DELETE FROM sessions WHERE person = ?", (name,))
        log_event(database, "link", name, {"role": role})
    return secret


def revoke(store: Store, name: str) -> None:
    """End a person's link and sessions; what they read stays."""
    with store.transaction() as database:
        changed = database.execute(
            "UPDATE people SET secret = NULL, revoked = ? WHERE person = ? AND secret IS NOT NULL",
            (timestamp(), name),
        )
        if changed.rowcount != 1:
            raise UsageError(f"{name!r}: nobody of this name has a link")
        database.execute("DELETE FROM sessions WHERE person = ?", (name,))
        log_event(database, "revoke", name)


def list_people(store: Store, role: str, condition: str = "TRUE") -> list[str]:
    """Names of those with a role, in the order in which they came."""
    query = f"SELECT person FROM people WHERE role = ? AND {condition} ORDER BY created, person"
    return [person for (person,) in store.rows(query, (role,))]


def enter(store: Store, secret: str) -> tuple[str, Person] | None:
    """Begin a session; return its token, which is told only here, and who it is. None: nobody has this secret."""
    found = store.rows("SELECT person, role FROM people WHERE secret = ?", (digest_text(secret),))
    if not found:
        return None
    ((name, role),) = found
    token, now = secrets.token_urlsafe(SECRET_BYTES), timestamp()
    with store.transaction() as database:
        oldest = (datetime.now(UTC) - LONGEST_SESSION).isoformat(timespec="milliseconds")
        database.execute("DELETE FROM sessions WHERE created < ?", (oldest,))
        database.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (digest_text(token), name, now, now))
        log_event(database, "enter", name)
    return token, Person(name, role, _csrf_of(token))


def find_session(store: Store, token: str) -> Person | None:
    """Who has a session with this token; None where it never was, has ended, or was revoked."""
    rows = store.rows(
        "SELECT person, role, sessions.created, seen FROM sessions JOIN people USING (person) "
        "WHERE token = ? AND secret IS NOT NULL",
        (digest_text(token),),
    )
    if not rows:
        return None
    row, now = rows[0], datetime.now(UTC)
    created, seen = (datetime.fromisoformat(row[name]) for name in ("created", "seen"))
    if now - created > LONGEST_SESSION or now - seen > LONGEST_PAUSE:
        end_session(store, token)
        return None
    if now - seen > SEEN_EVERY:
        store.change("UPDATE sessions SET seen = ? WHERE token = ?", (timestamp(), digest_text(token)))
    return Person(row["person"], row["role"], _csrf_of(token))


def end_session(store: Store, token: str) -> None:
    """End a session."""
    store.change("DELETE FROM sessions WHERE token = ?", (digest_text(token),))


def _csrf_of(token: str) -> str:
    """Proof that a request comes from our page: other sites can send the cookie, but not know what follows from it."""
    return hmac.new(token.encode(), b"csrf", "sha256").hexdigest()

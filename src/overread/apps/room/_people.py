"""Readers, chairs and the owner: personal links with hashed secrets, and sessions that expire."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from overread.apps.room._store import Store, digest_text, log_event, timestamp
from overread.errors import UsageError
from overread.tables import likeness_of

# A working day with breaks; an unused session ends sooner. Set by judgement.
LONGEST_SESSION = timedelta(hours=24)
LONGEST_PAUSE = timedelta(hours=8)
# Most delay in recording a session's last use: a write per request would wait for the device.
SEEN_EVERY = timedelta(minutes=5)
LONGEST_NAME = 64
# 256 bits cannot be guessed, so a plain digest is enough; a password would need a slow one.
SECRET_BYTES = 32


@dataclass(frozen=True)
class Person:
    """A person in a session, and the token that proves that a request comes from the page."""

    name: str
    role: str
    csrf: str


def add_person(store: Store, name: str, role: str) -> str:
    """Add a reader, a chair or the owner and return the secret of their link, which is not stored.

    A person whose link was revoked gets a new one and keeps the worklist.
    """
    if not name or not name.isprintable() or name != name.strip() or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r}: a name needs 1 to {LONGEST_NAME} printable characters, without spaces at its ends"
        )
    secret = secrets.token_urlsafe(SECRET_BYTES)
    with store.transaction() as database:
        for known, known_role, known_secret in database.execute("SELECT person, role, secret FROM people"):
            if likeness_of(known) != likeness_of(name):
                continue
            if known != name:
                raise UsageError(f"{name!r}: {known!r} already exists. Use the same spelling.")
            if known_role != role:
                raise UsageError(f"{name!r}: already is a {known_role}. Give the {role} another name.")
            if known_secret is not None and role != "owner":
                raise UsageError(f"{name!r}: already has a link. For a new one, use --revoke {name!r} first.")
        database.execute(
            "INSERT INTO people VALUES (?, ?, ?, ?, NULL) ON CONFLICT (person) DO UPDATE SET secret = excluded.secret, "
            "revoked = NULL",
            (name, role, digest_text(secret), timestamp()),
        )
        database.execute("DELETE FROM sessions WHERE person = ?", (name,))
        log_event(database, "link", name, {"role": role})
    return secret


def revoke(store: Store, name: str) -> None:
    """Revoke a person's link and sessions; their readings stay."""
    with store.transaction() as database:
        changed = database.execute(
            "UPDATE people SET secret = NULL, revoked = ? WHERE person = ? AND secret IS NOT NULL",
            (timestamp(), name),
        )
        if changed.rowcount != 1:
            raise UsageError(f"{name!r}: no person of this name has a link")
        database.execute("DELETE FROM sessions WHERE person = ?", (name,))
        log_event(database, "revoke", name)


def list_people(store: Store, role: str, condition: str = "TRUE") -> list[str]:
    """Names of the people with a role, in order of creation."""
    query = f"SELECT person FROM people WHERE role = ? AND {condition} ORDER BY created, person"
    return [person for (person,) in store.rows(query, (role,))]


def enter(store: Store, secret: str) -> tuple[str, Person] | None:
    """Start a session; return its token, which is not stored, and the person. None if the secret is unknown."""
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
    """Return the person with this session token; None if the session is unknown, ended or revoked."""
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
    """Proof that a request comes from the page: other sites can send the cookie, but cannot compute this value."""
    return hmac.new(token.encode(), b"csrf", "sha256").hexdigest()

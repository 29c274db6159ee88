"""Readers at work: drawing, undoing, losing the connection, coming back; two tabs; a server that is gone."""

import time

import pytest

from reading_browser import CONTROL, DELETE, ENTER, ESCAPE, MARKS, RIGHT, SHIFT, ServedRoom, write_study

IMAGES = {"one": (0.2, 0.2), "two": (0.2, 0.2), "three": (0.15, 0.15)}


@pytest.fixture
def room(tmp_path):
    with ServedRoom(write_study(tmp_path / "study", IMAGES), readers=("Ada", "Ben", "Cleo")) as opened:
        yield opened


@pytest.fixture
def visitor(browser, visit, room):
    visitor = visit(room)
    yield visitor
    visitor.offline(gone=False)
    browser.get("about:blank")


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.03)


def test_three_readers_draw_undo_lose_the_connection_and_come_back(room, visitor):
    # Ada draws two marks, rotates one, takes back and does again.
    visitor.enter("Ada")
    visitor.read("Ada", "one")
    visitor.drag((500, 300), (540, 300))
    visitor.drag((420, 500), (450, 500))
    visitor.press("6")
    visitor.press(RIGHT, RIGHT, holding=SHIFT)
    visitor.press(RIGHT, holding=CONTROL)
    wait_until(lambda: [mark["angle"] for mark in room.stored("Ada", "one")][1:] == [1.0])
    first, second = room.stored("Ada", "one")
    assert second["confidence"] == 60.0
    assert second["rx"] > second["ry"] > 0
    visitor.press("u")
    wait_until(lambda: room.stored("Ada", "one")[1]["angle"] == 0.0)
    visitor.press("U", DELETE)
    visitor.saved()
    assert [mark["mark"] for mark in room.stored("Ada", "one")] == [first["mark"]]
    visitor.press("u")
    visitor.saved()
    assert [mark["mark"] for mark in room.stored("Ada", "one")] == [first["mark"], second["mark"]]

    # The connection is gone: she goes on, and finishes; the next image is there already.
    visitor.offline(gone=True)
    visitor.press("j", "4")
    visitor.drag((480, 600), (500, 620))
    visitor.press("9")
    visitor.wait("document.getElementById('saved').textContent.startsWith('Offline')")
    assert len(room.stored("Ada", "one")) == 2
    visitor.finish()
    visitor.wait("document.querySelector('.reading .waiting')?.hidden === true")
    visitor.press("o")
    visitor.wait("document.querySelector('.nothing').getAttribute('aria-pressed') === 'true'")

    # Ben comes to the same browser before anything was sent.
    visitor.offline(gone=False)
    room.close()
    visitor.browser.get("about:blank")
    room.reopen()
    visitor.enter("Ben")
    visitor.read("Ben", "one")
    assert visitor.count(MARKS) == 0
    visitor.drag((510, 310), (545, 310))
    visitor.press("5")
    visitor.saved()
    assert len(room.stored("Ben", "one")) == 1
    visitor.finish()

    # Cleo sees nothing there.
    visitor.enter("Cleo")
    visitor.read("Cleo", "one")
    visitor.press("o")
    visitor.saved()
    visitor.finish()
    visitor.saved()

    # Ada comes back: what she had drawn without a connection is there, once.
    visitor.enter("Ada")
    visitor.saved()
    marks = room.stored("Ada", "one")
    assert sorted(mark["confidence"] for mark in marks) == [40.0, 60.0, 90.0]
    states = {image: room.room.items.describe("Ada", room.item("Ada", image)) for image in IMAGES}
    assert states["one"]["phase"] == "done"
    assert [state["nothing"] for state in states.values()].count(True) == 1
    (row,) = room.room.store.rows("SELECT * FROM items WHERE item = ?", (room.item("Ada", "one"),))
    assert row["active_ms"] > 500
    assert row["paused_ms"] == 0


def test_a_reading_without_marks_needs_a_word(room, visitor):
    visitor.enter("Ada")
    item = visitor.read("Ada", "two")
    visitor.press(ENTER)
    visitor.shows(".toast")
    assert visitor.run("location.hash") == f"#/read/{item}"
    visitor.press("o", ENTER)
    visitor.wait(f"location.hash !== '#/read/{item}'")
    visitor.saved()
    state = room.room.items.describe("Ada", item)
    assert (state["phase"], state["nothing"]) == ("done", True)
    # What is finished is shown, and cannot be changed.
    visitor.read("Ada", "two")
    visitor.drag((500, 300), (540, 300))
    visitor.press("n", "o")
    assert visitor.count(MARKS) == 0
    assert visitor.run("document.querySelector('.nothing').disabled")


def test_marks_without_confidence_are_asked_about(room, visitor):
    visitor.enter("Ada")
    item = visitor.read("Ada", "two")
    visitor.drag((500, 300), (540, 300))
    visitor.press(ENTER)
    visitor.answer(ESCAPE)
    assert visitor.run("location.hash") == f"#/read/{item}"
    visitor.press(ENTER)
    visitor.shows("dialog.ask")
    visitor.click_on("dialog .answers button:last-child")
    visitor.wait(f"location.hash !== '#/read/{item}'")
    visitor.saved()
    assert room.stored("Ada", "two")[0]["confidence"] is None


def test_two_tabs_show_the_same_and_lose_nothing(visit, room, visitor):
    browser = visitor.browser
    visitor.enter("Ada")
    visitor.read("Ada", "three")
    first = browser.current_window_handle
    address = browser.current_url
    browser.switch_to.new_window("tab")
    try:
        second = visit(room)
        browser.get(address)
        second.ready()
        second.drag((500, 300), (540, 300))
        second.saved()
        browser.switch_to.window(first)
        visitor.shows(MARKS, 1)
        visitor.drag((420, 500), (450, 500))
        visitor.saved()
        assert len(room.stored("Ada", "three")) == 2
        # The first tab finishes; the second learns of it.
        visitor.press("7", "j", "7")
        visitor.finish()
        visitor.saved()
        browser.switch_to.window(browser.window_handles[-1])
        second.wait("document.querySelector('.reading').dataset.phase === 'done'")
        assert len(room.stored("Ada", "three")) == 2
    finally:
        browser.switch_to.window(browser.window_handles[-1])
        browser.close()
        browser.switch_to.window(first)


def test_changes_cross_when_tabs_do_not_hear_each_other(room, visitor):
    """The server moves on behind the page's back: the change is offered again on top of what is there."""
    visitor.enter("Ada")
    item = visitor.read("Ada", "three")
    visitor.browser.execute_async_script(
        """
        const [item, done] = arguments;
        const mark = { x: 50, y: 60, rx: 7, ry: 8, angle: 0, confidence: 30, label: null, comment: "" };
        const body = JSON.stringify({ op: "foreign-op-1", ...mark });
        fetch("api/me").then((answer) => answer.json()).then(({ csrf }) => {
          const headers = { "X-CSRF": csrf, "Content-Type": "application/json" };
          return fetch(`api/items/${item}/marks/foreign-mark-1`, { method: "PUT", headers, body });
        }).then(done);
        """,
        item,
    )
    assert len(room.stored("Ada", "three")) == 1
    visitor.drag((500, 300), (540, 300))
    visitor.saved()
    assert len(room.stored("Ada", "three")) == 2
    visitor.shows(MARKS, 2)


def test_what_is_drawn_while_the_server_is_gone_survives_the_page(room, visitor):
    visitor.enter("Ada")
    item = visitor.read("Ada", "three")
    room.close()
    visitor.drag((500, 300), (540, 300))
    visitor.press("3")
    visitor.drag((420, 500), (450, 500))
    visitor.wait("document.getElementById('saved').textContent.startsWith('Offline')")
    visitor.browser.get("about:blank")
    room.reopen()
    visitor.browser.get(f"{room.address.url}#/read/{item}")
    visitor.ready(item)
    visitor.shows(MARKS, 2)
    visitor.saved()
    assert [mark["confidence"] for mark in room.stored("Ada", "three")] == [30.0, None]
    # Sent again, nothing is doubled: the log has each act once.
    assert len(room.stored("Ada", "three")) == 2


@pytest.mark.slow
def test_another_session_in_the_same_browser_neither_loses_nor_mixes(visit, room, visitor):
    """Cookies are the browser's: who entered last has the session, and another tab's changes must not become theirs."""
    browser = visitor.browser
    visitor.enter("Ada")
    visitor.read("Ada", "one")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        second = visit(room)
        second.enter("Ada")
        browser.switch_to.window(first)
        visitor.drag((500, 300), (540, 300))
        visitor.saved()
        assert len(room.stored("Ada", "one")) == 1
        browser.switch_to.window(browser.window_handles[-1])
        second.enter("Ben")
        browser.switch_to.window(first)
        visitor.drag((420, 500), (450, 500))
        visitor.wait("document.getElementById('saved').textContent.startsWith('Session ended')")
        assert len(room.stored("Ada", "one")) == 1
        assert room.stored("Ben", "one") == []
        browser.switch_to.window(browser.window_handles[-1])
        second.enter("Ada")
    finally:
        browser.switch_to.window(browser.window_handles[-1])
        browser.close()
        browser.switch_to.window(first)
    visitor.saved()
    assert len(room.stored("Ada", "one")) == 2


@pytest.mark.slow
def test_a_browser_that_keeps_nothing_says_so_and_still_saves(room, visitor):
    """A private window without a store, or a disk that is full: changes wait in the window."""
    script = visitor.cdp(
        "Page.addScriptToEvaluateOnNewDocument",
        {
            "source": "IDBObjectStore.prototype.add = () => { throw new DOMException('full', 'QuotaExceededError'); };"
        },
    )
    try:
        visitor.enter("Ada")
        visitor.read("Ada", "one")
        visitor.offline(gone=True)
        visitor.drag((500, 300), (540, 300))
        visitor.press("4")
        visitor.wait("document.getElementById('saved').textContent.includes('do not close it')")
        visitor.offline(gone=False)
        visitor.saved()
        assert [mark["confidence"] for mark in room.stored("Ada", "one")] == [40.0]
    finally:
        visitor.cdp("Page.removeScriptToEvaluateOnNewDocument", script)


def test_pauses_are_counted_apart(room, visitor):
    """The clock is turned by hand: a still minute is reading, what follows it and a hidden page are pauses."""
    visitor.enter("Ada")
    told = visitor.browser.execute_async_script(
        """
        const done = arguments[0];
        import(new URL("timer.js", document.querySelector('script[src$="app.js"]').src)).then(({ Timer }) => {
          const real = performance.now, seconds = [];
          let clock = 0, hidden = false;
          performance.now = () => clock;
          Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
          const timer = new Timer((active, paused) => seconds.push([active / 1000, paused / 1000]));
          const pass = (s) => { clock += 1000 * s; };
          const touch = () => dispatchEvent(new Event("pointermove"));
          const turn = (away) => { hidden = away; document.dispatchEvent(new Event("visibilitychange")); };
          pass(20); touch(); pass(30); timer.tell();  // reading all along
          pass(300); touch(); timer.tell();           // away from the desk
          pass(10); turn(true); pass(500); turn(false); pass(5); timer.tell();
          touch(); pass(3 * 3600 + 100); touch(); pass(2); timer.end();  // a lid closed for long is sent in parts
          performance.now = real;
          delete document.hidden;
          done(seconds);
        });
        """
    )
    active, paused = zip(*told, strict=True)
    assert told[0] == [50, 0]
    assert told[1] == [0, 300]
    assert sum(active) == pytest.approx(50 + 10 + 5 + 2)
    assert sum(paused) == pytest.approx(300 + 500 + 3 * 3600 + 100)
    assert max(paused) <= 3600

// The screen on which an image is read.

import { announce, ask, html, uuid } from "./dom.js";
import { Overlay } from "./ellipses.js";
import { icon } from "./icons.js";
import { runKey, showHelp } from "./keys.js";
import { MarkPanel, nameOf } from "./mark_panel.js";
import { readingKeys } from "./reading_keys.js";
import { ReadingState } from "./reading_state.js";
import { DetectionPanel, letterOf } from "./second_reading.js";
import { Timer } from "./timer.js";
import { ToolBar } from "./tool_bar.js";
import { Tools } from "./tools.js";
import { Viewer } from "./viewer.js";

// Key strokes within this many milliseconds are one change of a mark, and one undo step.
const SAME_STROKE_MS = 350;

const DECIDE = "Accept or dismiss each of the detector's marks. You may add and change marks.";

export class ReadingScreen {
  constructor(app, id) {
    this.app = app;
    this.id = id;
    this.state = new ReadingState(app.queue);
    this.viewer = new Viewer();
    this.overlay = new Overlay(this.viewer);
    this.overlay.editable = (mark) => this.state.open && mark.own;
    this.overlay.onfocus = (mark) => this.choose(mark);
    this.tools = new Tools(this.viewer, this.overlay, {
      created: (ellipse, mark) => this.create(ellipse, mark),
      changed: (mark, ellipse) => this.reshape(mark, ellipse),
      chosen: (mark) => this.choose(mark),
      canDraw: () => this.state.open,
    });
    this.bar = new ToolBar(this);
    this.markPanel = new MarkPanel(app.me.labels ?? [], {
      choose: (mark) => this.choose(mark), edit: (mark, fields) => this.state.edit(mark, fields),
      copy: (mark) => this.copy(mark), remove: (mark) => this.remove(mark),
    });
    this.detectionPanel = new DetectionPanel({
      choose: (mark) => this.choose(mark), decide: (...all) => this.decide(...all),
    });
    this.build();
    this.bindings = readingKeys(this);
    this.listen();
  }

  build() {
    this.nothing = html("button", { class: "nothing", "aria-pressed": "false", onclick: () => this.toggleNothing() },
      html("span", { class: "box" }, icon("tick")), "Nothing suspicious", html("kbd", {}, "o"));
    this.finish = html("button", { class: "main finish", onclick: () => this.leave() });
    this.comment = html("textarea", {
      rows: 2, maxlength: 2000, "aria-label": "Comment on the image", placeholder: "Comment on the image",
      onchange: () => this.state.setComment(this.comment.value),
    });
    this.count = html("span", { class: "count" });
    this.note = html("p", { class: "note", hidden: true });
    this.sheet = html("button", { class: "sheet", "aria-expanded": "false", onclick: () => this.toggleSheet() },
      html("span", {}, "Marks"), this.count);
    this.panel = html(
      "aside", { class: "panel", "aria-label": "Reading" }, this.sheet,
      html("div", { class: "scrolled" }, this.note, this.detectionPanel.element,
        html("section", {}, html("h2", {}, "Your marks"), this.markPanel.element), this.comment),
      html("div", { class: "verdict" }, this.nothing, this.finish),
    );
    this.wait = html("div", { class: "waiting", role: "status" }, "Loading the image…");
    this.viewer.stage.append(this.wait);
    this.element = html("main", { class: "reading" }, this.bar.element, this.viewer.stage, this.panel);
  }

  listen() {
    const signal = (this.ending = new AbortController()).signal;
    this.state.addEventListener("change", () => this.refresh());
    addEventListener("keydown", (event) => this.keyDown(event), { signal });
    addEventListener("keyup", (event) => { if (event.key === " ") this.tools.spaceHeld = false; }, { signal });
    addEventListener("pagehide", () => this.hide(), { signal });
    const { queue } = this.app;
    queue.addEventListener("answer", ({ detail }) => this.answered(detail), { signal });
    queue.addEventListener("refused", ({ detail }) => this.refused(detail), { signal });
    queue.addEventListener("elsewhere", ({ detail }) => { if (detail.item === this.id) this.reload(); }, { signal });
    queue.addEventListener("moved", ({ detail }) => { if (detail.item === this.id) this.stale = true; }, { signal });
    this.viewer.follow(() => { this.element.dataset.settled = String(!this.viewer.goal); });
  }

  async start() {
    const isSecond = this.app.isSecond(this.id);
    // The second session opens when the server has the last reading of the first.
    if (isSecond) await this.app.queue.drain();
    const { item, pixels } = await this.app.loader.open(this.id);
    this.item = item;
    this.viewer.show(item, pixels);
    await this.state.load(item);
    this.comment.value = this.state.comment;
    this.wait.hidden = true;
    const next = this.app.after(this.id);
    if (next && this.app.isSecond(next.item) === isSecond) this.app.loader.preload(next.item);
    if (isSecond && this.state.open) this.beginAided();
    else this.startTimer();
  }

  startTimer() {
    if (!this.state.open || this.timer) return;
    this.timer = new Timer((active, paused) => {
      this.app.queue.add(this.id, "POST", `items/${this.id}/time`, { active_ms: active, paused_ms: paused });
    });
  }

  /** Leaves the screen. */
  close() {
    this.hide();
    this.timer?.stop();
    this.ending.abort();
    this.viewer.close();
  }

  hide() {
    // An image that never came has nothing to be kept.
    if (!this.item) return;
    this.settleStroke();
    this.state.setComment(this.comment.value);
    this.timer?.tell();
  }

  keyDown(event) {
    if (event.key === " " && event.target === document.body) {
      this.tools.spaceHeld = true;
      event.preventDefault();
      return;
    }
    this.repeated = event.repeat;
    runKey(this.bindings, event);
  }

  refresh() {
    const { state, overlay } = this, aided = state.phase !== "unaided";
    const own = state.marks.map((mark, i) => ({
      id: mark.id, own: true, ellipse: this.viewer.toUnits(mark), kind: mark.origin === "accepted" ? "accepted" : "own",
      text: String(i + 1), name: nameOf(mark, i + 1),
    }));
    const found = state.detections.map((one, i) => ({
      id: one.id, ellipse: this.viewer.toUnits(one), kind: one.decision === "dismiss" ? "dismissed" : "detection",
      text: letterOf(i), name: `Detector's mark ${letterOf(i)}`, decided: one.decision,
    })).filter((one) => one.decided !== "accept");
    const truth = (state.feedback?.objects ?? []).map((one, i) => ({
      id: `truth-${i}`, ellipse: this.viewer.toUnits(one), kind: "truth", text: one.found ? "found" : "missed",
      name: one.found ? "A finding, marked by you" : "A finding that you missed",
    }));
    overlay.show([...truth, ...found, ...own]);
    this.markPanel.show(state.marks, overlay.selected, this.viewer, state.open);
    this.detectionPanel.show(state.detections, overlay.selected, state.open, aided ? state.phase : "unaided");
    this.tellVerdict();
    this.tellNote();
    this.bar.refresh();
  }

  tellVerdict() {
    const { state } = this, n = state.marks.length;
    this.count.textContent = n ? `${n}` : state.nothing ? "nothing suspicious" : "none yet";
    this.nothing.setAttribute("aria-pressed", String(state.nothing));
    this.nothing.disabled = !state.open || n > 0;
    this.nothing.title = n ? "This image has marks: delete them first" : "";
    const ending = { unaided: "Finish reading", aided: "Finish second reading" }[state.phase];
    const words = state.open ? ending : "Next image";
    this.finish.replaceChildren(words, html("kbd", {}, "↵"));
    this.finish.classList.toggle("ready", !state.open || this.lacks() === null);
    this.element.dataset.phase = state.phase;
  }

  tellNote() {
    const { state } = this, { feedback } = state;
    const aided = this.app.me.phase_design === "independent" ? DECIDE : `Your reading is locked. ${DECIDE}`;
    const training = this.item?.kind === "training" ? "Training: after you finish, the known findings are shown." : "";
    const words = state.leaving ? "Saved in this browser. Waiting for the server…"
      : feedback ? feedbackWords(feedback, state.marks.length)
        : { aided, done: "This reading is finished." }[state.phase] ?? training;
    this.note.textContent = words;
    this.note.hidden = !words;
  }

  choose(id) {
    this.settleStroke();
    if (this.overlay.selected === id) return;
    this.overlay.select(id);
    const mark = this.overlay.chosen;
    if (mark) this.viewer.reveal(mark.ellipse);
    this.refresh();
  }

  chooseNext(step) {
    const ids = this.overlay.marks.map((mark) => mark.id), at = ids.indexOf(this.overlay.selected);
    if (!ids.length) return;
    this.choose(ids[at < 0 ? (step > 0 ? 0 : ids.length - 1) : (at + step + ids.length) % ids.length]);
    announce(this.overlay.chosen.name);
  }

  create(ellipse, id) {
    if (!this.state.open) return;
    this.overlay.selected = id; // before the change is shown, so that it is shown once
    this.state.add(this.viewer.toPixels({ ...ellipse }), id);
    announce(`Mark ${this.state.marks.length} drawn`);
  }

  reshape(id, ellipse) {
    const { x, y, rx, ry, angle } = this.viewer.toPixels(ellipse);
    this.overlay.selected = id;
    this.state.edit(id, { x, y, rx, ry, angle });
  }

  /** A new mark in the middle of the view, for keys. */
  createInMiddle() {
    const { width, height } = this.viewer.size;
    const middle = this.viewer.toImage({ x: width / 2, y: height / 2 });
    const radius = Math.min(width, height) / 12 / this.viewer.view.zoom;
    this.settleStroke();
    this.create(this.viewer.bound({ ...middle, rx: radius, ry: radius, angle: 0 }), uuid());
  }

  copy(id) {
    const mark = this.state.find(id);
    if (!mark || !this.state.open) return;
    this.settleStroke();
    const ellipse = this.viewer.toUnits(mark);
    const shift = Math.max(ellipse.rx, ellipse.ry) * 0.6 + 6 / this.viewer.view.zoom;
    const moved = this.viewer.toPixels(this.viewer.bound({ ...ellipse, x: ellipse.x + shift, y: ellipse.y + shift }));
    this.overlay.selected = this.state.add({ ...moved, confidence: mark.confidence, label: mark.label });
    this.refresh();
  }

  remove(id) {
    if (!this.state.find(id)) return;
    this.settleStroke();
    this.state.remove(id);
    announce("Mark deleted");
  }

  /** A change by keys: shown at once, and stored when the strokes pause. */
  stroke(change) {
    const mark = this.overlay.chosen;
    if (!mark?.own || !this.state.open) return false;
    const from = this.stroked?.id === mark.id ? this.stroked.ellipse : mark.ellipse;
    this.stroked = { id: mark.id, ellipse: this.viewer.bound(change(from)) };
    this.overlay.sketch(this.stroked);
    clearTimeout(this.strokeTimer);
    this.strokeTimer = setTimeout(() => this.settleStroke(), SAME_STROKE_MS);
    return true;
  }

  settleStroke() {
    clearTimeout(this.strokeTimer);
    const { stroked } = this;
    if (!stroked) return;
    this.stroked = null;
    this.overlay.sketch(null);
    this.reshape(stroked.id, stroked.ellipse);
  }

  undo() {
    this.settleStroke();
    announce(this.state.undo() ? "Undone" : "Nothing to undo");
  }

  redo() {
    this.settleStroke();
    announce(this.state.redo() ? "Redone" : "Nothing to redo");
  }

  toggleNothing() {
    if (!this.state.open) return;
    if (this.state.marks.length) this.app.toast("Delete the marks before you choose “Nothing suspicious”.");
    else this.state.setNothing(!this.state.nothing);
  }

  toggleSheet(open = !this.panel.classList.contains("raised")) {
    this.panel.classList.toggle("raised", open);
    this.sheet.setAttribute("aria-expanded", String(open));
  }

  decide(id, decision, reason) {
    const accepted = this.state.decide(id, decision, reason);
    this.overlay.selected = decision === "accept" ? accepted : this.undecided;
    this.refresh();
  }

  /** The detector's next mark that waits for a decision. */
  get undecided() {
    return this.state.detections.find((one) => !one.decision)?.id ?? null;
  }

  /** Sets the confidence of a mark. For an accepted mark of the detector, this moves on to the next undecided one. */
  rate(id, confidence) {
    this.settleStroke();
    const { origin, confidence: before } = this.state.find(id);
    this.state.edit(id, { confidence });
    if (origin === "accepted" && before === null) this.choose(this.undecided);
  }

  /** What must be done before the reading can be finished; null when nothing is missing. */
  lacks() {
    const { state } = this;
    const undecided = state.phase === "aided" && state.detections.some((one) => !one.decision);
    if (undecided) return "Accept or dismiss each of the detector's marks first.";
    if (!state.marks.length && !state.nothing) return "Draw a mark, or choose “Nothing suspicious” (O).";
    return null;
  }

  async leave() {
    this.settleStroke();
    const { state } = this;
    if (!state.open) return state.leaving ? null : this.app.goOn(this.id);
    const lacking = this.lacks();
    if (lacking) return this.app.toast(lacking);
    const unsure = state.marks.filter((mark) => mark.confidence === null).length;
    if (unsure && !(await ask(
      `${unsure} of ${state.marks.length} ${state.marks.length === 1 ? "mark has" : "marks have"} no confidence`,
      "The readers' curves need your confidence. A finished reading cannot be changed.",
      [{ text: "Go back", value: null, main: true }, { text: "Finish anyway", value: true }],
    ))) {
      return this.choose(state.marks.find((mark) => mark.confidence === null).id);
    }
    if (!state.open) return null;
    state.setComment(this.comment.value);
    this.timer?.end();
    this.timer = null;
    state.leave();
    // Where nothing follows from the server's answer, the next image need not wait for it.
    const last = state.phase === "aided" || this.app.me.phase_design !== "sequential";
    if (last && this.item.kind !== "training") this.app.goOn(this.id);
    return null;
  }

  async answered({ row }) {
    if (row.item !== this.id) return;
    if (/\/(lock|finish)$/.test(row.path) || this.stale) await this.reload();
    if (row.path.endsWith("/lock") && this.state.phase === "aided") this.beginAided();
  }

  beginAided() {
    this.startTimer();
    this.toggleSheet(true);
    const n = this.state.detections.length;
    announce(n ? `The detector has ${n} marks` : "The detector marks nothing here");
    if (this.undecided) this.choose(this.undecided);
  }

  refused({ row, error }) {
    if (row.item !== this.id) return;
    this.app.toast(`Not saved: ${error.message}`, "bad");
    this.reload().then(() => this.startTimer());
  }

  /** Takes the item as the server has it now. */
  async reload() {
    this.stale = false;
    const item = await this.app.loader.item(this.id).catch(() => null);
    if (!item || this.ending.signal.aborted) return;
    this.item = { ...this.item, ...item };
    await this.state.load(item);
    if (document.activeElement !== this.comment) this.comment.value = this.state.comment;
  }

  help() {
    showHelp(this.bindings);
  }
}

function feedbackWords({ objects, false_marks: wrong }, marks) {
  const found = objects.filter((one) => one.found).length;
  if (!objects.length && marks) return "This image has no findings: all your marks are false positives.";
  if (!objects.length) return "Correct: this image has no findings.";
  const extra = wrong.length ? ` ${wrong.length} of your marks ${wrong.length === 1 ? "hits" : "hit"} no finding.` : "";
  return `You found ${found} of ${objects.length}.${extra}`;
}

// State of one reading: marks, "nothing suspicious", comment. Every change goes to the queue at once, including undo
// and // redo.

import { uuid } from "./dom.js";

// Undo steps that are kept; more than anyone needs.
const MOST_STEPS = 200;

const FIELDS = ["x", "y", "rx", "ry", "angle", "confidence", "label", "comment"];

const same = (a, b) => FIELDS.every((field) => a[field] === b[field]);

export class ReadingState extends EventTarget {
  constructor(queue) {
    super();
    this.queue = queue;
  }

  /**
   * Takes an item as the server has it, and on top of it what the server does not have yet. Steps back are forgotten:
   * they would undo what was done elsewhere.
   */
  async load(item) {
    const waiting = await this.queue.waitingFor(item.item);
    this.leaving = false;
    this.item = item.item;
    this.phase = item.phase;
    this.queue.versions.set(item.item, item.version);
    this.detections = (item.detections ?? []).map((detection) => ({ ...detection }));
    this.feedback = item.feedback ?? null;
    this.comment = item.comment ?? "";
    this.now = { marks: item.marks.map((mark) => ({ ...mark })), nothing: Boolean(item.nothing) };
    this.before = [];
    this.after = [];
    for (const row of waiting) this.replay(row);
    this.tell();
  }

  replay({ method, path, body }) {
    const [, , kind, id] = path.split("/");
    const others = this.now.marks.filter((mark) => mark.id !== id);
    if (kind === "marks" && method === "DELETE") this.now = { ...this.now, marks: others };
    else if (kind === "marks") this.now = { nothing: false, marks: [...others, { origin: "drawn", ...body, id }] };
    else if (kind === "nothing") this.now = { ...this.now, nothing: body.on };
    else if (kind === "comment") this.comment = body.comment;
    else if (kind === "decisions") this.settle(id, body);
    else if (kind === "lock" || kind === "finish") this.leaving = true;
  }

  get marks() {
    return this.now.marks;
  }

  get nothing() {
    return this.now.nothing;
  }

  get open() {
    return (this.phase === "unaided" || this.phase === "aided") && !this.leaving;
  }

  find(id) {
    return this.marks.find((mark) => mark.id === id) ?? null;
  }

  /** Draws a mark; this withdraws "nothing suspicious". */
  add(ellipse, id = uuid()) {
    const mark = { ...pick(ellipse), id, origin: "drawn" };
    this.change({ nothing: false, marks: [...this.marks, mark] });
    return id;
  }

  /** Changes fields of a mark. */
  edit(id, fields) {
    const marks = this.marks.map((mark) => (mark.id === id ? { ...mark, ...fields } : mark));
    this.change({ ...this.now, marks });
  }

  /** Deletes a mark. If it came from a detection, that detection becomes undecided, which undo does not restore. */
  remove(id) {
    const from = this.find(id)?.detection;
    this.change({ ...this.now, marks: this.marks.filter((mark) => mark.id !== id) });
    if (!from) return;
    Object.assign(this.detections.find((one) => one.id === from) ?? {}, { decision: null, reason: "" });
    this.before = [];
    this.tell();
  }

  setNothing(on) {
    this.change({ ...this.now, nothing: on });
  }

  setComment(comment) {
    if (comment === this.comment) return;
    this.comment = comment;
    this.queue.add(this.item, "POST", `items/${this.item}/comment`, { comment }, this.phase);
  }

  change(next) {
    if (!this.open) return;
    this.before = [...this.before, this.now].slice(-MOST_STEPS);
    this.after = [];
    this.become(next);
  }

  undo() {
    if (!this.open || !this.before.length) return false;
    this.after.push(this.now);
    this.become(this.before.pop());
    return true;
  }

  redo() {
    if (!this.open || !this.after.length) return false;
    this.before.push(this.now);
    this.become(this.after.pop());
    return true;
  }

  // The difference between the current and the wanted state, as changes for the server: first deletions, then
  // additions.
  become(next) {
    const { marks, nothing } = this.now;
    this.now = next;
    const path = `items/${this.item}`;
    const push = (method, end, body) => this.queue.add(this.item, method, `${path}/${end}`, body, this.phase);
    for (const mark of marks) {
      if (!next.marks.some((other) => other.id === mark.id)) push("DELETE", `marks/${mark.id}`, {});
    }
    for (const mark of next.marks) {
      const old = marks.find((other) => other.id === mark.id);
      if (!old || !same(old, mark)) push("PUT", `marks/${mark.id}`, pick(mark));
    }
    if (next.nothing !== nothing && (next.nothing || !next.marks.length)) push("POST", "nothing", { on: next.nothing });
    this.tell();
  }

  /** Accepts one of the detector's marks, which becomes a mark, or dismisses it with a reason. */
  decide(detection, decision, reason = "") {
    const body = { decision, reason, mark: uuid() };
    this.settle(detection, body);
    this.before = [];
    this.after = [];
    this.queue.add(this.item, "POST", `items/${this.item}/decisions/${detection}`, body, this.phase);
    this.tell();
    return body.mark;
  }

  settle(id, { decision, reason, mark }) {
    const detection = this.detections.find((one) => one.id === id);
    if (!detection) return;
    Object.assign(detection, { decision, reason });
    const marks = this.now.marks.filter((one) => one.detection !== id);
    if (decision === "accept") {
      const { x, y, rx, ry, angle } = detection;
      const accepted = { id: mark, x, y, rx, ry, angle, confidence: null, label: null, comment: "" };
      marks.push({ ...accepted, origin: "accepted", detection: id });
    }
    this.now = { nothing: this.now.nothing && !marks.length, marks };
  }

  /** Ends the phase: the reading without the detector is locked, the one with it finished. */
  leave() {
    const end = this.phase === "unaided" ? "lock" : "finish";
    this.leaving = true;
    this.queue.add(this.item, "POST", `items/${this.item}/${end}`, {}, this.phase);
    this.tell();
  }

  tell() {
    this.dispatchEvent(new Event("change"));
  }
}

function pick(mark) {
  return Object.fromEntries(FIELDS.map((field) => [field, mark[field] ?? (field === "comment" ? "" : null)]));
}

// Objects on which readers disagree: the region without and with each mark side by side, no names, one decision.

import { get } from "./api.js";
import { choice, html } from "./dom.js";
import { Overlay } from "./ellipses.js";
import { sizeText } from "./geometry.js";
import { runKey, showHelp, viewKeys } from "./keys.js";
import { letterOf } from "./second_reading.js";
import { Tools } from "./tools.js";
import { Viewer } from "./viewer.js";
import { items, link, listHead } from "./worklist.js";

const DECISIONS = [["lesion", "A finding", "1"], ["not", "Not a finding", "2"], ["unsure", "Cannot tell", "3"]];

// Side of a crop in CSS pixels, and side of the shown region in largest axes of the marks; by judgement.
const CROP = 148;
const AROUND = 4;

export class AdjudicationList {
  constructor(app) {
    this.app = app;
    this.element = html("main", { class: "worklist page" });
  }

  async start() {
    await this.app.fetchObjects();
    const { objects } = this.app;
    const done = objects.filter(({ state }) => state === "done").length;
    const next = objects.find(({ state }) => state !== "done");
    const start = next && html(
      "a", { class: "button main start", href: `#/adjudicate/${next.object}` }, done ? "Continue" : "Start",
    );
    const far = objects.length ? `${done} of ${objects.length} objects decided`
      : "There is nothing to decide: the readers agree on every image that all of them have finished.";
    const links = objects.map(({ object, position, state }) =>
      link(`#/adjudicate/${object}`, "Object", position, state, state === "done" ? "decided" : "open"));
    this.element.append(...listHead("Adjudication", far, done, objects.length, start), items(links));
    start?.focus();
  }

  close() {}
}

export class AdjudicationScreen {
  constructor(app, id) {
    Object.assign(this, { app, id, shown: true, only: null });
    this.viewer = new Viewer();
    this.overlay = new Overlay(this.viewer);
    this.overlay.onfocus = (mark) => this.single(mark);
    this.tools = new Tools(this.viewer, this.overlay, { chosen: (mark) => this.single(mark), canDraw: () => false });
    this.tools.use("select");
    this.panel = html("aside", { class: "panel raised", "aria-label": "Decision" });
    this.element = html("main", { class: "reading adjudication" }, this.viewer.stage, this.panel);
    this.ending = new AbortController();
    this.bindings = this.keys();
    addEventListener("keydown", (event) => runKey(this.bindings, event), { signal: this.ending.signal });
    app.queue.addEventListener("refused", ({ detail }) => {
      if (detail.row.item === id) app.toast(`Not saved: ${detail.error.message}`, "bad");
    }, { signal: this.ending.signal });
  }

  keys() {
    const { viewer } = this;
    const key = (group, strokes, run, says) => ({ group, strokes, run, says });
    return [
      ...DECISIONS.map(([value, words, stroke]) =>
        key("Decision", [stroke], () => this.decide(value), words.toLowerCase())),
      key("Decision", ["g"], () => this.app.go("#/adjudicate"), "list of objects"),
      key("View", ["s"], () => this.toggle(), "show or hide the marks"),
      key("View", ["j", "J"], (stroke) => this.next(stroke === "j" ? 1 : -1), "next, previous mark"),
      key("View", ["Escape"], () => this.single(null), "all marks"),
      key("View", ["p"], () => this.near(), "zoom to the object"),
      ...viewKeys(viewer),
      key("View", ["?"], () => this.help(), "this help"),
    ];
  }

  async start() {
    if (!this.app.objects) await this.app.fetchObjects();
    const object = await get(`adjudication/${this.id}`);
    const pixels = await this.app.loader.picture(`adjudication/${this.id}`, object);
    this.object = object;
    this.viewer.show(object, pixels);
    this.marks = object.marks.map((mark, i) => ({
      id: `mark-${i}`, kind: "own", text: letterOf(i), name: `Mark ${letterOf(i)}`,
      ellipse: this.viewer.toUnits(mark), mark,
    }));
    this.build();
    this.near(false);
    this.show();
    this.cropTo();
  }

  build() {
    const { object } = this, decided = object.decision;
    this.crops = html("div", { class: "crops" });
    this.label = object.labels?.length
      ? choice(object.labels, decided?.label, "no label", { "aria-label": "Label" }) : null;
    this.comment = html("textarea", { rows: 2, maxlength: 2000, placeholder: "Comment", "aria-label": "Comment" });
    this.comment.value = decided?.comment ?? "";
    this.buttons = new Map(DECISIONS.map(([value, words, stroke]) => [value, html(
      "button", { "aria-pressed": String(decided?.decision === value), onclick: () => this.decide(value) },
      words, html("kbd", {}, stroke),
    )]));
    this.panel.append(
      html("div", { class: "scrolled" },
        html("h2", {}, `Marked by ${object.n_marked} of ${object.n_readers} readers`), this.crops,
        html("button", { onclick: () => this.toggle() }, "Show or hide the marks", html("kbd", {}, "S"))),
      html("div", { class: "verdict" }, ...(this.label ? [this.label] : []), this.comment, ...this.buttons.values()),
    );
  }

  // The region of the object, with a margin around the largest mark.
  place() {
    const side = AROUND * 2 * Math.max(...this.marks.map(({ ellipse }) => Math.max(ellipse.rx, ellipse.ry)));
    const mean = (key) => this.marks.reduce((sum, { ellipse }) => sum + ellipse[key], 0) / this.marks.length;
    return { cx: mean("x"), cy: mean("y"), side };
  }

  near(smooth = true) {
    const { cx, cy, side } = this.place(), { width, height } = this.viewer.size;
    this.viewer.glideTo({ zoom: Math.min(width, height) / (1.5 * side), cx, cy }, smooth);
  }

  cropTo() {
    const { cx, cy, side } = this.place(), view = { zoom: CROP / side, cx, cy };
    const crop = (marks, words, id) => {
      const canvas = html("canvas", { class: "crop" });
      this.viewer.copyTo(canvas, view, CROP);
      this.overlay.paint(canvas, view, marks);
      const show = () => this.single(id);
      return html("button", { class: "crop", onclick: show }, canvas, html("span", {}, words));
    };
    const told = ({ mark, ellipse, text }) => [text, sizeText(ellipse, this.viewer.mmPerUnit),
      mark.confidence === null ? null : `confidence ${mark.confidence}`, mark.label].filter(Boolean).join(" · ");
    const each = this.marks.map((mark) => crop([mark], told(mark), mark.id));
    this.crops.replaceChildren(crop([], "without marks", "none"), ...each);
    this.viewer.redraw();
  }

  show() {
    const hidden = this.only === "none" || !this.shown;
    this.overlay.show(hidden ? [] : this.marks.filter((mark) => !this.only || mark.id === this.only));
  }

  /** Shows one mark, "none" for the picture without marks, null for all. */
  single(id) {
    this.only = id;
    this.shown = true;
    this.show();
  }

  next(step) {
    const ids = [null, ...this.marks.map((mark) => mark.id)], at = ids.indexOf(this.only === "none" ? null : this.only);
    this.single(ids[(at + step + ids.length) % ids.length]);
  }

  toggle() {
    this.shown = !this.shown;
    this.only = null;
    this.show();
  }

  async decide(decision) {
    const body = { decision, label: this.label?.value || null, comment: this.comment.value };
    await this.app.queue.add(this.id, "PUT", `adjudication/${this.id}/decision`, body);
    const { objects } = this.app, here = objects.find(({ object }) => object === this.id);
    if (here) here.state = "done";
    const next = objects.find(({ state }) => state !== "done");
    this.app.go(next ? `#/adjudicate/${next.object}` : "#/adjudicate");
  }

  help() {
    showHelp(this.bindings);
  }

  close() {
    this.ending.abort();
    this.viewer.close();
  }
}

// The reader's images: their state, and a link to the next one.

import { html, present } from "./dom.js";
import { icon } from "./icons.js";
import { runKey } from "./keys.js";

const WORDS = { open: "not read", begun: "begun", locked: "second reading", done: "finished" };
const GROUPS = [["training", "Training"], ["reading", "Reading"], ["second", "Second session, with the detector's marks"]];

export class WorklistScreen {
  constructor(app) {
    this.app = app;
    this.element = html("main", { class: "worklist page" });
    this.ending = new AbortController();
    const bindings = [{ strokes: ["Enter"], run: () => this.app.goOn(null) }];
    addEventListener("keydown", (event) => runKey(bindings, event), { signal: this.ending.signal });
  }

  async start() {
    await this.app.fetchWorklist();
    this.show();
    const next = this.app.after(null);
    if (next) this.app.loader.preload(next.item);
  }

  show() {
    const { worklist, me } = this.app, next = this.app.after(null);
    const done = worklist.filter(({ state }) => state === "done").length;
    const far = worklist.length ? `${done} of ${worklist.length} images finished` : "You have no images yet.";
    const start = next ? this.startButton(done > 0 || next.state !== "open") : worklist.length ? allDone() : null;
    this.element.replaceChildren(...present([
      ...listHead(me.study, far, done, worklist.length, start),
      ...GROUPS.map(([kind, title]) => this.group(title, worklist.filter((row) => row.kind === kind), next)),
    ]));
    this.element.querySelector("button.start")?.focus();
  }

  startButton(begun) {
    const words = begun ? "Continue reading" : "Start reading";
    return html("button", { class: "main start", onclick: () => this.app.goOn(null) }, words, html("kbd", {}, "↵"));
  }

  group(title, rows, next) {
    if (!rows.length) return null;
    const links = rows.map((row) =>
      link(`#/read/${row.item}`, "Image", row.position, row.state, WORDS[row.state], row === next));
    return html("section", {}, html("h2", {}, title), items(links));
  }

  close() {
    this.ending.abort();
  }
}

/** Title, how far somebody is in words and as a bar, and where to go on. */
export function listHead(title, far, done, total, start) {
  const bar = html("progress", { max: total || 1, value: done, "aria-label": "Finished" });
  return present([html("h1", {}, title), html("p", { class: "lead" }, far), bar, start]);
}

/** List of links with numbers. */
export function items(links) {
  return html("ol", { class: "items" }, links.map((one) => html("li", {}, one)));
}

export function link(href, what, position, state, words, isNext = false) {
  const names = { "aria-label": `${what} ${position}, ${words}`, "aria-current": isNext ? "step" : null };
  return html("a", { href, class: state, ...names }, html("b", {}, String(position)), html("span", {}, words));
}

function allDone() {
  return html("p", { class: "lead good" }, icon("tick"), "All images are finished. Thank you.");
}

// The reader's images: how far they are, and the way to the next one.

import { html, present } from "./dom.js";
import { icon } from "./icons.js";
import { runKey } from "./keys.js";

const WORDS = { open: "not read", begun: "begun", locked: "second reading", done: "finished" };
const GROUPS = [["training", "Training"], ["reading", "Reading"]];

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
    const { worklist } = this.app, next = this.app.after(null);
    const done = worklist.filter(({ state }) => state === "done").length;
    this.element.replaceChildren(...present([
      html("h1", {}, this.app.me.study),
      html("p", { class: "lead" }, worklist.length ? `${done} of ${worklist.length} images finished` : "No images have been assigned to you yet."),
      html("progress", { max: worklist.length || 1, value: done, "aria-label": "Images finished" }),
      next ? html("button", { class: "main start", onclick: () => this.app.goOn(null) }, done || next.state !== "open" ? "Continue reading" : "Start reading", html("kbd", {}, "↵"))
        : worklist.length ? html("p", { class: "lead good" }, icon("tick"), "All images are finished. Thank you.") : null,
      ...GROUPS.map(([kind, title]) => this.group(title, worklist.filter((row) => row.kind === kind), next)),
    ]));
    this.element.querySelector("button.start")?.focus();
  }

  group(title, rows, next) {
    if (!rows.length) return null;
    return html("section", {}, html("h2", {}, title), html("ol", { class: "items" }, rows.map((row) => html("li", {}, html(
      "a", { href: `#/read/${row.item}`, class: row.state, "aria-current": row === next ? "step" : null,
        "aria-label": `Image ${row.position}, ${WORDS[row.state]}` },
      html("b", {}, String(row.position)), html("span", {}, WORDS[row.state]),
    )))));
  }

  close() {
    this.ending.abort();
  }
}

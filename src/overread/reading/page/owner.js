// The owner's page: who has read what, agreement where it may be known, and the tables.

import { get, send } from "./api.js";
import { html, uuid } from "./dom.js";

export class OwnerScreen {
  constructor(app) {
    this.app = app;
    this.element = html("main", { class: "owner page" });
  }

  async start() {
    const told = await get("owner");
    this.element.replaceChildren(
      html("h1", {}, this.app.me.study),
      html("p", { class: "lead" }, `${told.images.complete} of ${told.images.total} images are finished by everyone who has them.`),
      html("h2", {}, "Readers"), told.readers.length ? this.readers(told.readers) : html("p", {}, "There are no readers yet."),
      html("h2", {}, "Agreement"), ...this.agreement(told.agreement),
      html("h2", {}, "Tables"),
      html("p", {}, told.exported ? `Written last ${new Date(told.exported).toLocaleString()}.` : "Not written yet."),
      html("button", { class: "main", onclick: () => this.export() }, "Write marks.csv and readings.csv"),
    );
  }

  readers(rows) {
    return table(["Reader", "Finished", "Begun", "Median time", ""], rows.map((row) => [
      row.name, progress(row), String(row.begun), row.median_seconds === null ? "–" : `${Math.round(row.median_seconds)} s`,
      row.revoked ? "link revoked" : "",
    ]));
  }

  agreement(told) {
    if (!told) return [html("p", {}, "Shown when at least two readers have finished the same images: until then it could tell what others marked.")];
    const { columns, rows, note } = told;
    return [table(columns, rows), ...(note ? [html("p", { class: "quiet" }, note)] : [])];
  }

  async export() {
    try {
      const { written } = await send("POST", "owner/export", { op: uuid() });
      this.app.toast(`Written: ${written.join(", ")}`);
      await this.start();
    } catch (error) {
      this.app.toast(error.message, "bad");
    }
  }

  close() {}
}

function progress({ done, total }) {
  return html("span", { class: "done" }, html("progress", { max: total || 1, value: done, "aria-hidden": "true" }), `${done} of ${total}`);
}

function table(columns, rows) {
  return html("div", { class: "scroll" }, html(
    "table", {}, html("thead", {}, html("tr", {}, columns.map((name) => html("th", { scope: "col" }, name)))),
    html("tbody", {}, rows.map((row) => html("tr", {}, row.map((cell, i) => html(i ? "td" : "th", i ? {} : { scope: "row" }, cell))))),
  ));
}

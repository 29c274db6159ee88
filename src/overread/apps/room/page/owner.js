// The owner's page: progress of the readers, agreement once it may be shown, and the tables.

import { get, send } from "./api.js";
import { html, uuid } from "./dom.js";

const NOT_YET = "Shown when at least two readers have finished enough of the same images: "
  + "before that it could reveal what others marked.";

export class OwnerScreen {
  constructor(app) {
    this.app = app;
    this.element = html("main", { class: "owner page" });
  }

  async start() {
    const told = await get("owner");
    const { complete, total } = told.images;
    this.element.replaceChildren(
      html("h1", {}, this.app.me.study),
      html("p", { class: "lead" }, `${complete} of ${total} images are finished by all their readers.`),
      html("h2", {}, "Readers"),
      told.readers.length ? this.readers(told.readers) : html("p", {}, "There are no readers yet."),
      html("h2", {}, "Agreement"), ...this.agreement(told.agreement, told.repeats ?? []),
      html("h2", {}, "Tables"),
      html("p", {}, told.exported ? `Written last ${new Date(told.exported).toLocaleString()}.` : "Not written yet."),
      html("button", { class: "main", onclick: () => this.export() }, "Write marks.csv and readings.csv"),
    );
  }

  readers(rows) {
    return table(["Reader", "Finished", "Begun", "Median time", ""], rows.map((row) => [
      row.name, progress(row), String(row.begun),
      row.median_seconds === null ? "–" : `${Math.round(row.median_seconds)} s`, row.revoked ? "link revoked" : "",
    ]));
  }

  agreement(told, repeats) {
    const parts = told ? agreementParts(told) : [html("p", {}, NOT_YET)];
    if (!repeats.length) return parts;
    const rows = repeats.map(({ name, n_images: n, same, kappa }) => [name, String(n), String(same), number(kappa)]);
    const columns = ["Reader", "Images read twice", "Same both times", "Kappa"];
    return [...parts, html("h3", {}, "Each reader with themselves"), table(columns, rows)];
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

function agreementParts({ n_images: n, level, alpha, pairs, readers }) {
  return [
    html("p", {}, `On ${n} images that all their readers have finished. Krippendorff's alpha of "marked something": `
      + `${withLimits(alpha)}. In brackets: ${Math.round(100 * level)} % intervals.`),
    !readers.length ? html("p", {}, "Sensitivity of each reader needs three or more readers per image.")
      : table(["Reader", "Images", "Found of what two others marked", "False positives per image"], readers.map((one) => [
        one.name, String(one.n_images), `${withLimits(one.sensitivity)} of ${one.n_objects}`, number(one.fp_per_image),
      ])),
    html("h3", {}, "Pairs of readers"),
    table(["Pair", "Images", "Kappa", "Positive agreement"], pairs.map((pair) => [
      `${pair.a} and ${pair.b}`, String(pair.n_images), withLimits(pair.kappa), number(pair.positive_agreement),
    ])),
  ];
}

function number(value) {
  return value === null || value === undefined ? "–" : value.toFixed(2);
}

function withLimits({ estimate, lower, upper }) {
  return estimate === null ? "–" : `${number(estimate)} (${number(lower)} to ${number(upper)})`;
}

function progress({ done, total }) {
  const bar = html("progress", { max: total || 1, value: done, "aria-hidden": "true" });
  return html("span", { class: "done" }, bar, `${done} of ${total}`);
}

function table(columns, rows) {
  return html("div", { class: "scroll" }, html(
    "table", {}, html("thead", {}, html("tr", {}, columns.map((name) => html("th", { scope: "col" }, name)))),
    html("tbody", {}, rows.map(([name, ...cells]) => html(
      "tr", {}, html("th", { scope: "row" }, name), cells.map((cell) => html("td", {}, cell)),
    ))),
  ));
}

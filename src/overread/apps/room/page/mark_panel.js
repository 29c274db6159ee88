// List of the reader's marks with confidence, label and comment of the chosen one.

import { choice, html } from "./dom.js";
import { icon } from "./icons.js";
import { sizeText } from "./geometry.js";

const HOW = "Press on the centre of a finding and drag to its edge.";

/** Name of a mark in the list and for a screen reader. */
export function nameOf(mark, number) {
  const sure = mark.confidence === null ? "no confidence yet" : `confidence ${mark.confidence}`;
  return [`Mark ${number}`, sure, mark.label, mark.origin === "accepted" ? "from the detector" : null]
    .filter(Boolean).join(", ");
}

export class MarkPanel {
  /** `actions` has `choose(id)`, `edit(id, fields)`, `copy(id)` and `remove(id)`. */
  constructor(labels, actions) {
    this.labels = labels;
    this.actions = actions;
    this.element = html("ol", { class: "marks", "aria-label": "Marks" });
  }

  show(marks, selected, viewer, open) {
    // Rows are built again. The focus is carried over by the field's name where keys are meant for it; after a click on
    // the slider they are meant for the picture again.
    const active = document.activeElement;
    const field = active?.closest?.(".marks") && active.matches(":focus-visible") ? active.name : null;
    this.element.replaceChildren(...marks.map((mark, i) => this.row(mark, i + 1, mark.id === selected, viewer, open)));
    if (!marks.length) this.element.append(html("li", { class: "none" }, open ? HOW : "No marks."));
    if (field) this.focus(field);
  }

  /** Puts the focus into a field of the chosen mark. */
  focus(name) {
    const field = this.element.querySelector(`[name="${name}"]`);
    field?.focus();
    return Boolean(field);
  }

  row(mark, number, chosen, viewer, open) {
    const size = sizeText(viewer.toUnits(mark), viewer.mmPerUnit);
    const head = html(
      "button",
      { class: "head", "aria-expanded": String(chosen), "aria-label": `${nameOf(mark, number)}, ${size}`,
        onclick: () => this.actions.choose(chosen ? null : mark.id) },
      html("span", { class: `badge ${mark.origin}` }, String(number)), html("span", { class: "what" }, size),
      mark.label ? html("span", { class: "chip" }, mark.label) : null,
      html("span", { class: mark.confidence === null ? "sure missing" : "sure" },
        mark.confidence === null ? "–" : String(mark.confidence)),
    );
    return html("li", { class: chosen ? "chosen" : "" }, head, chosen ? this.details(mark, open) : null);
  }

  labelField(mark, open) {
    const onchange = ({ target }) => this.actions.edit(mark.id, { label: target.value || null });
    return choice(this.labels, mark.label, "–", { name: "label", disabled: !open, onchange });
  }

  details(mark, open) {
    const { actions } = this, value = mark.confidence ?? 50, unset = mark.confidence === null;
    const number = html("input", {
      type: "number", name: "confidence", min: 0, max: 100, step: 1, value: unset ? "" : value, disabled: !open,
      placeholder: "–", "aria-label": "Confidence, 0 to 100",
      onchange: () => actions.edit(mark.id, { confidence: readConfidence(number) }),
    });
    const slider = html("input", {
      type: "range", name: "slider", min: 0, max: 100, step: 1, value, disabled: !open, class: unset ? "unset" : "",
      "aria-label": "Confidence",
      oninput: () => { number.value = slider.value; slider.classList.remove("unset"); },
      onchange: () => actions.edit(mark.id, { confidence: Number(slider.value) }),
      // A click that does not move the slider is an answer too.
      onpointerup: () => { if (unset) actions.edit(mark.id, { confidence: Number(slider.value) }); },
    });
    const label = this.labels.length ? html("label", {}, "Label", this.labelField(mark, open)) : null;
    const comment = html("label", {}, "Comment", html("input", {
      name: "comment", value: mark.comment ?? "", maxlength: 2000, disabled: !open, autocomplete: "off",
      onchange: (event) => actions.edit(mark.id, { comment: event.target.value }),
    }));
    return html(
      "div", { class: "details" },
      html("div", { class: "confidence" }, html("span", {}, "Confidence"), slider, number), label, comment,
      open ? html("div", { class: "acts" },
        html("button", { onclick: () => actions.copy(mark.id) }, icon("copy"), "Copy"),
        html("button", { onclick: () => actions.remove(mark.id) }, icon("bin"), "Delete")) : null,
    );
  }
}

function readConfidence(field) {
  if (field.value === "" || !Number.isFinite(field.valueAsNumber)) return null;
  return Math.min(100, Math.max(0, Math.round(field.valueAsNumber)));
}

// The detector's marks after the reading without them is locked: each is accepted, or dismissed with a reason.

import { ask, html } from "./dom.js";
import { icon } from "./icons.js";

/** Offered reasons; readers can write others. */
export const REASONS = ["normal structure", "benign", "artefact or device", "already marked"];

export class DetectionPanel {
  /** `actions` has `choose(id)` and `decide(id, decision, reason)`. */
  constructor(actions) {
    this.actions = actions;
    this.list = html("ol", { class: "detections", "aria-label": "Marks of the detector" });
    this.element = html(
      "section", { class: "second", hidden: true },
      html("h2", {}, "The detector's marks"),
      this.list,
    );
  }

  show(detections, selected, open, phase) {
    this.element.hidden = phase === "unaided" || (phase === "done" && !detections.length);
    this.list.replaceChildren(...detections.map((one, i) => this.row(one, letterOf(i), one.id === selected, open)));
    if (!detections.length) this.list.append(html("li", { class: "none" }, "The detector has no marks on this image."));
  }

  row(detection, letter, chosen, open) {
    const { id, decision, reason } = detection;
    const dismissed = reason ? `dismissed: ${reason}` : "dismissed";
    const said = { accept: "accepted", dismiss: dismissed }[decision] ?? "to be decided";
    const pressed = (value) => ({ "aria-pressed": String(decision === value) });
    const share = detection.probability ?? null;
    return html(
      "li", { class: `${chosen ? "chosen" : ""} ${decision ?? "undecided"}` },
      html("button",
        { class: "head", "aria-label": `Detector's mark ${letter}, ${said}`, onclick: () => this.actions.choose(id) },
        html("span", { class: "badge detection" }, letter), html("span", { class: "what" }, said),
        share === null ? null : html("span", { class: "sure" }, `${Math.round(100 * share)} %`)),
      open ? html("div", { class: "acts" },
        html("button", { ...pressed("accept"), onclick: () => this.actions.decide(id, "accept", "") },
          icon("tick"), "Accept"),
        html("button", { ...pressed("dismiss"), onclick: () => this.dismiss(id) }, icon("cross"), "Dismiss…")) : null,
    );
  }

  /** Asks for a reason and dismisses. */
  async dismiss(id) {
    const other = html("input", {
      maxlength: 200, "aria-label": "Another reason", placeholder: "another reason", autocomplete: "off",
    });
    const reasons = html("div", { class: "reasons" }, REASONS.map((text, i) => html("label", {},
      html("input", { type: "radio", name: "reason", value: text, checked: i === 0 }), text)));
    const going = ask("Why is this not a finding?", [reasons, other], [
      { text: "Dismiss", value: true, main: true }, { text: "Back", value: null },
    ]);
    reasons.querySelector("input").focus();
    const dialog = reasons.closest("dialog");
    dialog.addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key === "Enter" && typing) dialog.querySelector("button.main").click();
    });
    if (await going) {
      this.actions.decide(id, "dismiss", other.value.trim() || reasons.querySelector("input:checked").value);
    }
  }
}

/** Detections have letters, the reader's marks numbers. */
export function letterOf(index) {
  return index < 26 ? String.fromCharCode(65 + index) : `A${index - 25}`;
}

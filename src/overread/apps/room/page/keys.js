// Keys of the reading screen in one table: their action and their help text.

import { html, takesKeys } from "./dom.js";

// Zoom factor of one key stroke; by judgement.
const ZOOM = 1.25;

/** Name of a key stroke: `Ctrl+z`, `Shift+ArrowUp`, `?`. The shift of a printed character is in the character. */
export function strokeOf(event) {
  const named = event.key.length > 1;
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  return `${control}${event.shiftKey && named ? "Shift+" : ""}${event.key === " " ? "Space" : event.key}`;
}

/** Runs the binding of a key stroke unless another element takes the keys. True if there was a binding. */
export function runKey(bindings, event) {
  if (event.altKey || document.querySelector("dialog[open]")) return false;
  const stroke = strokeOf(event);
  const typing = takesKeys(event.target);
  // A field is left with Escape, but for one of several lines with Enter too; what was typed counts.
  if (typing && (stroke === "Escape" || (stroke === "Enter" && !(event.target instanceof HTMLTextAreaElement)))) {
    event.target.blur();
    return true;
  }
  // Buttons keep their own keys.
  if (typing || (event.target instanceof HTMLButtonElement && ["Enter", "Space"].includes(stroke))) return false;
  const found = bindings.find(({ strokes }) => strokes.includes(stroke));
  if (!found) return false;
  event.preventDefault();
  found.run(stroke);
  return true;
}

/** Keys of the picture's view; `changed` is called when the lens or the inverse was switched. */
export function viewKeys(viewer, changed = () => {}) {
  const key = (strokes, run, says, shows) => ({ group: "View", strokes, run, says, shows });
  return [
    key(["+", "="], () => viewer.zoomBy(ZOOM, viewer.pointer), "zoom in", ["+"]),
    key(["-"], () => viewer.zoomBy(1 / ZOOM, viewer.pointer), "zoom out"),
    key(["f"], () => viewer.fit(), "whole image"),
    key(["z"], () => viewer.oneToOne(viewer.pointer), "one to one"),
    key(["b", "B"], (stroke) => viewer.shiftWindow(0, stroke === "b" ? 20 : -20), "brighter, darker"),
    key(["c", "C"], (stroke) => viewer.shiftWindow(stroke === "c" ? -30 : 30, 0), "more, less contrast"),
    key(["r"], () => viewer.resetWindow(), "reset the window"),
    key(["i"], () => { viewer.toggleInvert(); changed(); }, "invert"),
    key(["m"], () => { viewer.toggleLens(); changed(); }, "lens"),
  ];
}

const SHOWN = {
  ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→",
  PageDown: "Page down", PageUp: "Page up", Escape: "Esc",
};

function shown(stroke) {
  const parts = stroke === "+" ? ["+"] : stroke.split("+");
  return html("kbd", {}, parts.map((part) => SHOWN[part] ?? part).join(" + "));
}

function listKeys(bindings) {
  return html("dl", {}, bindings.map(({ strokes, shows, says }) => [
    html("dt", {}, (shows ?? strokes).map(shown)), html("dd", {}, says),
  ]).flat());
}

/** Shows all keys and gestures over the page; closes on Escape. */
export function showHelp(bindings) {
  if (document.querySelector("dialog.help")) return;
  const groups = [...new Set(bindings.map(({ group }) => group))];
  const dialog = html(
    "dialog", { class: "help", "aria-label": "Keys and gestures" },
    html("button", { class: "close", "aria-label": "Close the help", onclick: () => dialog.close() }, "Esc"),
    html("h2", {}, "Mouse and fingers"),
    html("dl", { class: "gestures" }, [
      ["Drag", "use the tool: draw from the centre outwards (Shift: by its box), or move a mark by its line"],
      ["Handles", "squares change an axis, the circle rotates (Shift: by 15°)"],
      ["Wheel, two fingers", "zoom, and pan with two fingers"],
      ["Right drag", "window: to the right wider, upwards brighter"],
      ["Middle drag, Space + drag", "pan"],
    ].flatMap(([what, does]) => [html("dt", {}, what), html("dd", {}, does)])),
    html("h2", {}, "Keys"),
    html("div", { class: "groups" }, groups.map((group) => html(
      "section", {}, html("h3", {}, group), listKeys(bindings.filter((binding) => binding.group === group)),
    ))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Buttons of the tools and of the view.

import { html } from "./dom.js";
import { icon } from "./icons.js";

const TOOLS = [
  ["ellipse", "Ellipse from the centre", "E"],
  ["three", "Ellipse by three clicks", "T"],
  ["select", "Select and move", "V"],
  ["pan", "Pan", "H"],
  ["window", "Window", "W"],
];

export class ToolBar {
  constructor(screen) {
    this.screen = screen;
    this.tools = new Map(TOOLS.map(([name, title, key]) =>
      [name, this.button(name, title, key, () => this.use(name))]));
    const { viewer } = screen;
    this.lens = this.button("lens", "Lens", "M", () => { viewer.toggleLens(); this.refresh(); });
    this.invert = this.button("invert", "Invert", "I", () => { viewer.toggleInvert(); this.refresh(); });
    this.undo = this.button("undo", "Undo", "U", () => screen.undo());
    this.redo = this.button("redo", "Redo", "Shift+U", () => screen.redo());
    this.element = html(
      "nav", { class: "tools", "aria-label": "Tools" },
      ...this.tools.values(), html("hr"), this.lens, this.invert,
      this.button("fit", "Whole image", "F", () => viewer.fit()),
      this.button("actual", "One to one", "Z", () => viewer.oneToOne()),
      html("hr"), this.undo, this.redo,
    );
    this.use("ellipse");
  }

  button(name, title, key, run) {
    const names = { title: `${title} (${key})`, "aria-label": title, "aria-keyshortcuts": key };
    return html("button", { class: `tool ${name}`, ...names, onclick: run }, icon(name));
  }

  use(name) {
    this.screen.tools.use(name);
    this.screen.viewer.stage.dataset.tool = name;
    for (const [tool, button] of this.tools) button.setAttribute("aria-pressed", String(tool === name));
  }

  refresh() {
    const { viewer, state } = this.screen;
    this.lens.setAttribute("aria-pressed", String(Boolean(viewer.lensOn)));
    this.invert.setAttribute("aria-pressed", String(viewer.invert));
    this.undo.disabled = !state.open || !state.before?.length;
    this.redo.disabled = !state.open || !state.after?.length;
    for (const name of ["ellipse", "three"]) this.tools.get(name).disabled = !state.open;
  }
}

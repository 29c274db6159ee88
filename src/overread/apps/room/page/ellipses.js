// Ellipses over the picture. They are drawn in SVG at screen coordinates after each drawing of the picture, so that
// lines keep their width at every zoom; what they mean is kept in units of the picture.

import { html, svg } from "./dom.js";
import { depth, handles, rimDistance, sizeText, support } from "./geometry.js";

// Distance in CSS pixels that counts as on the line: with a mouse by judgement, with a finger half of the 44 px of
// touch targets.
const NEAR = { mouse: 7, pen: 9, touch: 22 };

// Distance of the rotating handle from the rim in CSS pixels.
const TURN_REACH = 26;

export class Overlay {
  constructor(viewer) {
    this.viewer = viewer;
    this.layer = svg("svg", { class: "overlay", role: "group", "aria-label": "Marks on the picture" });
    this.size = html("div", { class: "size", hidden: true });
    viewer.renderer.canvas.after(this.layer);
    viewer.stage.append(this.size);
    this.marks = []; // {id, ellipse, kind, text, name}
    this.shapes = new Map();
    this.selected = null;
    this.draft = null;
    this.dots = [];
    this.editable = false;
    viewer.follow(() => this.place());
    viewer.paintLens = (canvas, view) => this.paint(canvas, view);
  }

  /** Shows these ellipses; existing ones keep their elements and so the focus. */
  show(marks) {
    this.marks = marks;
    const kept = new Set(marks.map((mark) => mark.id));
    for (const [id, shape] of this.shapes) {
      if (!kept.has(id)) {
        shape.remove();
        this.shapes.delete(id);
      }
    }
    for (const mark of marks) this.shape(mark);
    if (!kept.has(this.selected)) this.selected = null;
    this.viewer.redraw();
  }

  shape(mark) {
    let shape = this.shapes.get(mark.id);
    if (!shape) {
      shape = svg("g", { tabindex: 0, role: "button", "data-id": mark.id },
        svg("ellipse", { class: "halo" }), svg("ellipse", { class: "line" }), svg("text"));
      shape.addEventListener("focus", () => this.onfocus?.(mark.id));
      this.shapes.set(mark.id, shape);
      this.layer.append(shape);
    }
    shape.setAttribute("class", `mark ${mark.kind}`);
    shape.setAttribute("aria-label", `${mark.name}, ${sizeText(mark.ellipse, this.viewer.mmPerUnit)}`);
    shape.lastChild.textContent = mark.text;
    return shape;
  }

  select(id) {
    this.selected = id;
    this.viewer.redraw();
  }

  get chosen() {
    return this.marks.find((mark) => mark.id === this.selected) ?? null;
  }

  /** Shows an ellipse that is being drawn or changed instead of the mark with the same id; null ends this. */
  sketch(draft, dots = []) {
    this.draft = draft;
    this.dots = dots;
    this.viewer.redraw();
  }

  current(mark) {
    return this.draft?.id === mark.id ? this.draft.ellipse : mark.ellipse;
  }

  place() {
    for (const mark of this.marks) {
      const shape = this.shapes.get(mark.id);
      shape.classList.toggle("selected", mark.id === this.selected);
      this.placeShape(shape, this.current(mark));
    }
    this.placeDraft();
    this.placeHandles();
    this.placeSize();
  }

  placeShape(shape, ellipse) {
    const { zoom } = this.viewer.view, { x, y } = this.viewer.toScreen(ellipse);
    for (const child of shape.querySelectorAll("ellipse")) {
      child.setAttribute("transform", `translate(${x} ${y}) rotate(${ellipse.angle})`);
      child.setAttribute("rx", ellipse.rx * zoom);
      child.setAttribute("ry", ellipse.ry * zoom);
    }
    const edge = support(ellipse, { x: Math.SQRT1_2, y: -Math.SQRT1_2 });
    const text = shape.querySelector("text");
    text?.setAttribute("x", x + edge.x * zoom + 6);
    text?.setAttribute("y", y + edge.y * zoom - 5);
  }

  placeDraft() {
    const lines = () => ["halo", "line"].map((name) => svg("ellipse", { class: name }));
    this.draftShape ??= svg("g", { class: "mark draft" }, lines());
    this.dotShape ??= svg("g", { class: "dots" });
    const fresh = this.draft && !this.marks.some((mark) => mark.id === this.draft.id);
    if (fresh) {
      this.layer.append(this.draftShape);
      this.placeShape(this.draftShape, this.draft.ellipse);
    } else this.draftShape.remove();
    this.dotShape.replaceChildren(...this.dots.map((dot) => {
      const { x, y } = this.viewer.toScreen(dot);
      return svg("path", { d: `M${x - 6} ${y}h12M${x} ${y - 6}v12` });
    }));
    this.layer.append(this.dotShape);
  }

  placeHandles() {
    this.handleShape ??= svg("g", { class: "handles" });
    const mark = this.chosen;
    if (!mark || !this.editable || !this.editable(mark)) {
      this.handleShape.remove();
      return;
    }
    const ellipse = this.current(mark), { turn, ...ends } = this.handlePoints(ellipse);
    const rim = this.viewer.toScreen(handles(ellipse, 0).turn), knob = this.viewer.toScreen(turn);
    const middle = this.viewer.toScreen(ellipse);
    this.handleShape.replaceChildren(
      svg("line", { x1: rim.x, y1: rim.y, x2: knob.x, y2: knob.y }),
      svg("path", { d: `M${middle.x - 5} ${middle.y}h10M${middle.x} ${middle.y - 5}v10` }),
      ...Object.values(ends).map((end) => {
        const { x, y } = this.viewer.toScreen(end);
        return svg("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9 });
      }),
      svg("circle", { cx: knob.x, cy: knob.y, r: 5.5 }),
    );
    this.layer.append(this.handleShape);
  }

  placeSize() {
    const shown = this.draft?.ellipse;
    this.size.hidden = !shown;
    if (!shown) return;
    this.size.textContent = sizeText(shown, this.viewer.mmPerUnit);
    const at = this.viewer.pointer ?? this.viewer.toScreen(shown), { width } = this.viewer.size;
    this.size.style.left = `${Math.min(at.x + 16, width - 130)}px`;
    this.size.style.top = `${Math.max(at.y - 36, 4)}px`;
  }

  handlePoints(ellipse) {
    return handles(ellipse, TURN_REACH / this.viewer.view.zoom);
  }

  /** Handle of the chosen mark under a point of the picture. */
  handleAt(point, kind) {
    const mark = this.chosen;
    if (!mark || !this.editable || !this.editable(mark)) return null;
    const near = NEAR[kind] / this.viewer.view.zoom;
    const found = Object.entries(this.handlePoints(mark.ellipse))
      .map(([name, at]) => ({ name, distance: Math.hypot(at.x - point.x, at.y - point.y) }))
      .sort((a, b) => a.distance - b.distance)[0];
    return found.distance <= near ? found.name : null;
  }

  /** Mark under a point: the chosen one first, then the smallest; with `rim` only lines and centres count. */
  markAt(point, kind, rim) {
    const near = NEAR[kind] / this.viewer.view.zoom;
    const on = ({ ellipse }) => rimDistance(ellipse, point) <= near
      || (rim ? Math.hypot(ellipse.x - point.x, ellipse.y - point.y) <= near : depth(ellipse, point) <= 1);
    const found = this.marks.filter(on);
    const area = ({ ellipse }) => ellipse.rx * ellipse.ry;
    return found.find((mark) => mark.id === this.selected) ?? found.sort((a, b) => area(a) - area(b))[0] ?? null;
  }

  /** The ellipses on a plain canvas that shows another view of the picture. */
  paint(canvas, { zoom, cx, cy }, marks = this.marks) {
    const context = canvas.getContext("2d"), ratio = devicePixelRatio;
    for (const mark of marks) {
      const { x, y, rx, ry, angle } = this.current(mark);
      context.beginPath();
      context.ellipse(
        canvas.width / 2 + (x - cx) * zoom * ratio, canvas.height / 2 + (y - cy) * zoom * ratio,
        rx * zoom * ratio, ry * zoom * ratio, (angle * Math.PI) / 180, 0, 2 * Math.PI,
      );
      for (const [style, width] of [["rgba(0,0,0,.6)", 4], [colourOf(mark.kind), 1.5]]) {
        context.strokeStyle = style;
        context.lineWidth = width * ratio;
        context.stroke();
      }
    }
  }
}

/** Colour of a kind of ellipse, as the style sheet has it. */
function colourOf(kind) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${kind}`).trim();
}

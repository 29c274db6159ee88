// Pointer actions on the stage. Left button or one finger: the tool; wheel or two fingers: zoom; middle button or
// space: pan; right button: window.

import { fromCentre, fromThree, pulled } from "./geometry.js";
import { uuid } from "./dom.js";

// A press that moves less than this many CSS pixels is a click.
const CLICK = 4;

export class Tools {
  /**
   * `actions` has `created(ellipse, id)`, `changed(id, ellipse)`, `chosen(id)`, and `canDraw()`.
   */
  constructor(viewer, overlay, actions) {
    Object.assign(this, { viewer, overlay, actions });
    this.tool = "ellipse";
    this.pointers = new Map();
    this.clicks = [];
    const { stage } = viewer;
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => this.cancel(event));
    stage.addEventListener("pointerleave", () => { if (!this.pointers.size) viewer.point(null); });
    stage.addEventListener("contextmenu", (event) => event.preventDefault());
    // The middle button would scroll by itself, a double click would select text.
    for (const kind of ["mousedown", "dblclick"]) stage.addEventListener(kind, (event) => event.preventDefault());
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  use(tool) {
    this.tool = tool;
    this.forget();
  }

  /** Drops an unfinished drawing. True if there was one. */
  forget() {
    const busy = Boolean(this.gesture || this.clicks.length);
    this.gesture = null;
    this.clicks = [];
    this.overlay.sketch(null);
    return busy;
  }

  place(event) {
    const box = this.viewer.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  wheel(event) {
    event.preventDefault();
    const pixels = Math.max(-300, Math.min(300, event.deltaY * [1, 30, 300][event.deltaMode]));
    // A trackpad sends many small steps, a wheel few large ones; a notch of 100 is about a quarter.
    this.viewer.zoomBy(Math.exp(-pixels / 450), this.place(event), Math.abs(pixels) > 20);
  }

  down(event) {
    if (!this.viewer.pixels) return;
    this.viewer.stage.setPointerCapture(event.pointerId);
    const at = this.place(event);
    this.pointers.set(event.pointerId, at);
    if (event.pointerType !== "touch") event.preventDefault();
    document.activeElement?.blur?.();
    if (this.pointers.size === 2) {
      this.forgetGesture();
      return;
    }
    if (this.pointers.size > 2) return;
    this.viewer.point(at);
    this.gesture = { ...this.begin(event, at), start: at, last: at, moved: false };
  }

  begin(event, at) {
    const point = this.viewer.toImage(at), { pointerType } = event;
    const kind = pointerType === "touch" || pointerType === "pen" ? pointerType : "mouse";
    if (event.button === 1 || this.spaceHeld || this.tool === "pan") return { kind: "pan" };
    if (event.button === 2 || this.tool === "window") return { kind: "window" };
    const handle = this.overlay.handleAt(point, kind);
    if (handle) return { kind: "pull", handle, mark: this.overlay.chosen };
    const drawing = this.actions.canDraw() && this.tool !== "select", inside = this.viewer.holds(point);
    if (drawing && this.tool === "three" && (inside || this.clicks.length === 2)) return { kind: "three" };
    const mark = this.overlay.markAt(point, kind, drawing);
    if (mark) return { kind: "carry", mark, free: this.overlay.editable?.(mark), from: point };
    // Beside the picture there is nothing to mark: a click lets go, a drag does nothing.
    if (drawing && (!inside || this.tool === "three")) return { kind: "none", click: "nothing" };
    return drawing ? { kind: "draw", centre: point, id: uuid() } : { kind: "pan", click: "nothing" };
  }

  move(event) {
    const at = this.place(event);
    if (this.pointers.size === 2 && this.pointers.has(event.pointerId)) {
      this.pinch(event.pointerId, at);
      return;
    }
    this.viewer.point(at);
    const { gesture } = this;
    if (!gesture || !this.pointers.has(event.pointerId)) {
      this.hover(at);
      return;
    }
    this.pointers.set(event.pointerId, at);
    gesture.moved ||= Math.hypot(at.x - gesture.start.x, at.y - gesture.start.y) >= CLICK;
    if (!gesture.moved) return;
    this.drag(gesture, at, event);
    gesture.last = at;
  }

  drag(gesture, at, event) {
    const dx = at.x - gesture.last.x, dy = at.y - gesture.last.y;
    if (gesture.kind === "pan") this.viewer.pan(dx, dy);
    else if (gesture.kind === "window") this.viewer.shiftWindow(dx, -dy);
    else if (gesture.kind === "carry" && !gesture.free) this.viewer.pan(dx, dy);
    else {
      gesture.ellipse = this.shaped(gesture, this.viewer.toImage(at), event.shiftKey);
      if (gesture.ellipse) this.overlay.sketch({ id: gesture.mark?.id ?? gesture.id, ellipse: gesture.ellipse });
    }
  }

  shaped(gesture, point, shift) {
    const { viewer } = this;
    if (gesture.kind === "draw") return viewer.bound(fromCentre(gesture.centre, point, shift));
    if (gesture.kind === "pull") return viewer.bound(pulled(gesture.mark.ellipse, gesture.handle, point, shift));
    if (gesture.kind !== "carry") return null;
    const { ellipse } = gesture.mark;
    const moved = { x: ellipse.x + point.x - gesture.from.x, y: ellipse.y + point.y - gesture.from.y };
    return viewer.bound({ ...ellipse, ...moved });
  }

  // With three clicks the ellipse follows the pointer between them.
  hover(at) {
    if (!this.clicks.length) {
      this.tellCursor(at);
      return;
    }
    const point = this.viewer.toImage(at), [first, second] = this.clicks;
    const ellipse = fromThree(first, second ?? point, second ? point : null);
    this.overlay.sketch({ id: "three", ellipse }, this.clicks);
  }

  tellCursor(at) {
    const point = this.viewer.toImage(at), handle = this.overlay.handleAt(point, "mouse");
    const drawing = this.actions.canDraw() && this.tool !== "select";
    const looks = !handle && this.tool !== "pan" && this.tool !== "window";
    const mark = looks && this.overlay.markAt(point, "mouse", drawing);
    this.viewer.stage.dataset.over = handle === "turn" ? "turn" : handle ? "pull" : mark ? "mark" : "";
  }

  up(event) {
    const at = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    const { gesture } = this;
    if (!gesture || !at) return;
    this.gesture = null;
    if (!gesture.moved) this.click(gesture, this.viewer.toImage(at));
    else if (gesture.ellipse) this.commit(gesture);
    if (event.pointerType === "touch") this.viewer.point(null);
  }

  commit({ kind, id, mark, ellipse }) {
    this.overlay.sketch(null);
    if (kind === "draw") this.actions.created(ellipse, id);
    else this.actions.changed(mark.id, ellipse);
  }

  click(gesture, point) {
    if (gesture.kind === "three") this.clickThree(point);
    else if (gesture.kind === "carry") this.actions.chosen(gesture.mark.id);
    else if (gesture.kind === "draw" || gesture.click) {
      this.actions.chosen(this.overlay.markAt(point, "mouse", false)?.id ?? null);
    }
  }

  clickThree(point) {
    this.clicks.push(point);
    if (this.clicks.length < 3) {
      this.overlay.sketch(null, this.clicks);
      return;
    }
    const ellipse = this.viewer.bound(fromThree(...this.clicks));
    this.forget();
    this.actions.created(ellipse, uuid());
  }

  pinch(id, at) {
    const spread = () => {
      const [a, b] = this.pointers.values();
      return { length: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    const before = spread();
    this.pointers.set(id, at);
    const now = spread();
    this.viewer.pan(now.x - before.x, now.y - before.y);
    if (before.length > 0) this.viewer.zoomBy(now.length / before.length, now, false);
  }

  // A second finger means zoom: what the first one began is dropped, but not clicks that were made before.
  forgetGesture() {
    this.gesture = null;
    this.overlay.sketch(null, this.clicks);
  }

  cancel(event) {
    this.pointers.delete(event.pointerId);
    this.forgetGesture();
  }
}

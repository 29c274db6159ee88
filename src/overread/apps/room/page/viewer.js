// The picture on its stage: zoom, pan, window, lens, side mark and scale bar.
//
// Units: the shorter side of an image pixel is 1, so that ellipses keep their shape where pixels are not square. `zoom`
// is CSS pixels per unit, `cx, cy` the unit at the middle of the stage.

import { html } from "./dom.js";
import { bounded, rescaled } from "./geometry.js";
import { makeRenderer } from "./renderers.js";

// By judgement: most CSS pixels per unit; least share of the fitting zoom; time in which a glide covers 63 %.
const LARGEST_ZOOM = 40;
const SMALLEST_ZOOM = 0.5;
const GLIDE_MS = 55;

// Lens, by judgement: its side in CSS pixels, and its magnification of the picture.
const LENS_SIDE = 240;
const LENS_POWER = 2.5;

// Window of colour, whose values are bytes.
const WHOLE_BYTE = { center: 127.5, width: 255 };

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export class Viewer {
  constructor() {
    this.canvas = html("canvas", { class: "picture" });
    this.lens = html("canvas", { class: "loupe", hidden: true, width: LENS_SIDE, height: LENS_SIDE });
    this.left = html("div", { class: "side left" });
    this.right = html("div", { class: "side right" });
    this.bar = html("div", { class: "bar" });
    this.barText = html("span");
    this.facts = html("div", { class: "facts" });
    this.probe = html("div", { class: "probe" });
    this.stage = html(
      "div", { class: "stage" }, this.canvas, this.left, this.right,
      html("div", { class: "scale" }, this.barText, this.bar), this.facts, this.probe, this.lens,
    );
    this.renderer = makeRenderer(this.canvas);
    this.renderer.canvas.addEventListener("restored", () => { this.renderer.load(this.pixels); this.redraw(); });
    this.view = { zoom: 1, cx: 0, cy: 0 };
    this.fitted = true;
    this.window = { ...WHOLE_BYTE };
    this.invert = false;
    this.followers = [];
    this.observer = new ResizeObserver(() => (this.fitted ? this.fit(false) : this.redraw()));
    this.observer.observe(this.stage);
  }

  /** Ends what lives beyond the stage. */
  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.renderer.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Calls a function after each drawing. */
  follow(follower) {
    this.followers.push(follower);
  }

  /** Shows a picture, fitted, in its own window. */
  show(item, pixels) {
    this.item = item;
    this.pixels = pixels;
    const spacing = item.mm_per_px ?? { x: 1, y: 1 }, unit = Math.min(spacing.x, spacing.y);
    this.ax = spacing.x / unit;
    this.ay = spacing.y / unit;
    this.mmPerUnit = item.mm_per_px ? unit : null;
    this.renderer.load(pixels);
    this.resetWindow();
    this.left.textContent = item.left_right?.left ?? "";
    this.right.textContent = item.left_right?.right ?? "";
    this.fit(false);
  }

  /** Size of the stage in CSS pixels, with its fractions. */
  get size() {
    const { width, height } = this.stage.getBoundingClientRect();
    return { width, height };
  }

  /** Width and height of the picture in units. */
  get extent() {
    return { width: this.pixels.width * this.ax, height: this.pixels.height * this.ay };
  }

  toScreen({ x, y }) {
    const { width, height } = this.size, { zoom, cx, cy } = this.view;
    return { x: (x - cx) * zoom + width / 2, y: (y - cy) * zoom + height / 2 };
  }

  toImage({ x, y }) {
    const { width, height } = this.size, { zoom, cx, cy } = this.view;
    return { x: (x - width / 2) / zoom + cx, y: (y - height / 2) / zoom + cy };
  }

  /** Whether a point is on the picture. */
  holds({ x, y }) {
    const { width, height } = this.extent;
    return x >= 0 && y >= 0 && x <= width && y <= height;
  }

  /** Ellipse of the picture's pixels in units. */
  toUnits(mark) {
    return rescaled(mark, this.ax, this.ay);
  }

  /** Ellipse in units as one of the picture's pixels, its centre on the picture. */
  toPixels(ellipse) {
    const { width, height } = this.pixels;
    return bounded(rescaled(ellipse, 1 / this.ax, 1 / this.ay), this.pixels, Math.hypot(width, height));
  }

  /** Ellipse in units that is on the picture and no larger than it. */
  bound(ellipse) {
    return bounded(ellipse, this.extent, Math.hypot(this.pixels.width, this.pixels.height));
  }

  fitZoom() {
    const { width, height } = this.size, extent = this.extent;
    return Math.max(Math.min(width / extent.width, height / extent.height), 1e-4);
  }

  /** The whole picture; follows the stage's size until something else is asked for. */
  fit(smooth = true) {
    if (!this.pixels || !this.stage.clientWidth) return;
    const { width, height } = this.extent;
    this.glideTo({ zoom: this.fitZoom(), cx: width / 2, cy: height / 2 }, smooth);
    this.fitted = true;
  }

  /** One pixel of the picture on one pixel of the screen, around a point of the stage. */
  oneToOne(at) {
    this.zoomTo(1 / devicePixelRatio, at);
  }

  /** Zoom around a point of the stage that stays where it is. */
  zoomTo(zoom, at, smooth = true) {
    if (!this.pixels) return;
    const { width, height } = this.size;
    const anchor = at ?? { x: width / 2, y: height / 2 };
    const bounded = clamp(zoom, Math.min(this.fitZoom(), 1) * SMALLEST_ZOOM, LARGEST_ZOOM);
    const fixed = this.toImage(anchor);
    const cx = fixed.x - (anchor.x - width / 2) / bounded, cy = fixed.y - (anchor.y - height / 2) / bounded;
    this.glideTo({ zoom: bounded, cx, cy, anchor, fixed }, smooth);
  }

  /** Zoom by a factor; factors add up while the view still glides. */
  zoomBy(factor, at, smooth = true) {
    this.zoomTo((this.goal?.zoom ?? this.view.zoom) * factor, at, smooth);
  }

  pan(dx, dy) {
    const { zoom, cx, cy } = this.view, { width, height } = this.extent;
    this.goal = null;
    this.fitted = false;
    // The middle of the stage stays on the picture, so that it cannot be lost.
    this.view = { zoom, cx: clamp(cx - dx / zoom, 0, width), cy: clamp(cy - dy / zoom, 0, height) };
    this.redraw();
  }

  /** Brings a point of the picture into sight, if it is not. */
  reveal(point) {
    const { x, y } = this.toScreen(point), { width, height } = this.size, margin = 40;
    if (x < margin || y < margin || x > width - margin || y > height - margin) {
      this.glideTo({ zoom: this.view.zoom, cx: point.x, cy: point.y });
    }
  }

  glideTo(goal, smooth = true) {
    this.fitted = false;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.goal = goal;
    if (!smooth || calm) this.arrive();
    this.moved = performance.now();
    this.redraw();
  }

  arrive() {
    const { zoom, cx, cy } = this.goal;
    this.view = { zoom, cx, cy };
    this.goal = null;
  }

  glide() {
    const now = performance.now(), share = 1 - Math.exp(-(now - this.moved) / GLIDE_MS);
    const { zoom, cx, cy, anchor, fixed } = this.goal, view = this.view, { width, height } = this.size;
    this.moved = now;
    view.zoom *= (zoom / view.zoom) ** share;
    view.cx = anchor ? fixed.x - (anchor.x - width / 2) / view.zoom : view.cx + (cx - view.cx) * share;
    view.cy = anchor ? fixed.y - (anchor.y - height / 2) / view.zoom : view.cy + (cy - view.cy) * share;
    const near = Math.abs(Math.log(zoom / view.zoom)) < 2e-3 && Math.hypot(cx - view.cx, cy - view.cy) * zoom < 0.5;
    if (near) this.arrive();
    else this.redraw();
  }

  /** Window by a drag: to the right wider, upwards brighter. */
  shiftWindow(right, up) {
    const { center, width } = this.window;
    const wider = clamp(width * Math.exp(right / 250), 1, 131072);
    const brighter = ((this.turned ? 1 : -1) * up * width) / 400;
    this.window = { center: clamp(center + brighter, -65536, 131072), width: wider };
    this.redraw();
  }

  resetWindow() {
    this.window = { ...(this.item.window ?? WHOLE_BYTE) };
    this.invert = false;
    this.redraw();
  }

  /** Whether high values are dark: an image may be stored so (MONOCHROME1), and the reader's `invert` reverses it. */
  get turned() {
    return this.invert !== Boolean(this.item?.invert);
  }

  toggleInvert() {
    this.invert = !this.invert;
    this.redraw();
  }

  /** Pointer over the stage, or null when it left. */
  point(at) {
    this.pointer = at;
    this.tellProbe();
    if (this.lensOn) this.redraw();
  }

  toggleLens() {
    this.lensOn = !this.lensOn;
    this.redraw();
    return this.lensOn;
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.goal) this.glide();
      this.draw();
    });
  }

  draw() {
    const { width, height } = this.size, ratio = devicePixelRatio, { canvas } = this.renderer;
    if (!width || !height || !this.pixels) return;
    this.drawLens();
    // Whole pixels of the screen, and no stretching where the stage's size is none of them.
    const w = Math.ceil(width * ratio), h = Math.ceil(height * ratio);
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${w / ratio}px`, height: `${h / ratio}px` });
    this.render(this.view, { width, height }, ratio);
    this.drawScale();
    this.facts.textContent = `${Math.round(100 * this.view.zoom * ratio)} %  ·  W ${Math.round(this.window.width)}`
      + `  L ${Math.round(this.window.center)}${this.invert ? "  ·  inverted" : ""}`;
    for (const follower of this.followers) follower();
  }

  render({ zoom, cx, cy }, { width, height }, ratio) {
    const { center, width: span } = this.window;
    this.renderer.draw({
      x: (width / 2 - cx * zoom) * ratio, y: (height / 2 - cy * zoom) * ratio,
      sx: zoom * this.ax * ratio, sy: zoom * this.ay * ratio,
      low: center - span / 2, span, invert: this.turned,
    });
  }

  /** Another view of the same picture, copied to a plain canvas. To be followed by a drawing of the stage. */
  copyTo(target, view, side) {
    const ratio = devicePixelRatio, { canvas } = this.renderer, length = Math.round(side * ratio);
    if (canvas.width < length) canvas.width = length;
    if (canvas.height < length) canvas.height = length;
    const size = { width: canvas.width / ratio, height: canvas.height / ratio };
    this.render(view, size, ratio);
    target.width = target.height = length;
    target.getContext("2d").drawImage(
      canvas, (canvas.width - length) / 2, (canvas.height - length) / 2, length, length, 0, 0, length, length,
    );
  }

  drawLens() {
    const shown = Boolean(this.lensOn && this.pointer);
    this.lens.hidden = !shown;
    if (!shown) return;
    const middle = this.toImage(this.pointer), zoom = this.view.zoom * LENS_POWER;
    const view = { zoom, cx: middle.x, cy: middle.y };
    this.copyTo(this.lens, view, LENS_SIDE);
    this.lens.style.left = `${this.pointer.x - LENS_SIDE / 2}px`;
    this.lens.style.top = `${this.pointer.y - LENS_SIDE / 2}px`;
    this.paintLens?.(this.lens, view);
  }

  drawScale() {
    const perUnit = this.mmPerUnit ?? 1, room = Math.min(160, this.size.width / 4);
    const most = (room / this.view.zoom) * perUnit;
    const ten = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((step) => step * ten).find((step) => step <= most);
    this.bar.style.width = `${(length / perUnit) * this.view.zoom}px`;
    this.barText.textContent = `${+length.toPrecision(1)} ${this.mmPerUnit ? "mm" : "px"}`;
  }

  tellProbe() {
    const place = this.pointer && this.pixels && this.toImage(this.pointer);
    const column = place && Math.floor(place.x / this.ax), row = place && Math.floor(place.y / this.ay);
    const value = place ? this.pixels.at(column, row) : null;
    this.probe.textContent = value === null ? "" : `${column}, ${row}: ${[value].flat().join(" ")}`;
  }
}

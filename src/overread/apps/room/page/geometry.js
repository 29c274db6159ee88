// Ellipses {x, y, rx, ry, angle}: centre, semi-axis along the angle, semi-axis across it, degrees clockwise on screen
// from +x (y runs down). The origin is the image's top-left corner; pixel (0, 0) covers [0, 1] x [0, 1].

const RADIANS = Math.PI / 180;

/** Smallest semi-axis in pixels of the image that can be drawn. */
export const SMALLEST = 0.5;

/** The same ellipse with its angle in [0, 180). */
export function normalized(ellipse) {
  const angle = ((ellipse.angle % 180) + 180) % 180;
  return { ...ellipse, angle: angle === 180 ? 0 : angle };
}

/** Unit vectors along the ellipse's two axes. */
export function axes({ angle }) {
  const c = Math.cos(angle * RADIANS), s = Math.sin(angle * RADIANS);
  return [{ x: c, y: s }, { x: -s, y: c }];
}

/**
 * Ellipse in a plane that is stretched by sx and sy. It is the unit circle's image under M = S R diag(rx, ry);
 * its axes are the roots of the eigenvalues of M M^T.
 */
export function rescaled(ellipse, sx, sy) {
  const { x, y, rx, ry, angle } = ellipse;
  if (sx === sy) return { ...ellipse, x: x * sx, y: y * sx, rx: rx * sx, ry: ry * sx };
  const [along] = axes({ angle });
  const a = sx * rx * along.x, b = -sx * ry * along.y, c = sy * rx * along.y, d = sy * ry * along.x;
  const p = a * a + b * b, q = a * c + b * d, r = c * c + d * d;
  const major = Math.sqrt((p + r) / 2 + Math.hypot((p - r) / 2, q));
  const minor = Math.min(Math.abs(a * d - b * c) / major, major);
  return normalized({
    ...ellipse, x: x * sx, y: y * sy, rx: major, ry: minor, angle: Math.atan2(2 * q, p - r) / 2 / RADIANS,
  });
}

/** Circle around a centre through a point of its edge; with `box`, the ellipse that fills the box to that corner. */
export function fromCentre(centre, edge, box = false) {
  const dx = Math.abs(edge.x - centre.x), dy = Math.abs(edge.y - centre.y);
  const radius = Math.max(Math.hypot(dx, dy), SMALLEST);
  return box
    ? { x: centre.x, y: centre.y, rx: Math.max(dx, SMALLEST), ry: Math.max(dy, SMALLEST), angle: 0 }
    : { x: centre.x, y: centre.y, rx: radius, ry: radius, angle: 0 };
}

/** Ellipse whose one axis runs from `first` to `second` and which is as wide as `third` is far from that line. */
export function fromThree(first, second, third) {
  const dx = second.x - first.x, dy = second.y - first.y;
  const length = Math.max(Math.hypot(dx, dy), 2 * SMALLEST);
  const x = (first.x + second.x) / 2, y = (first.y + second.y) / 2;
  const angle = Math.atan2(dy, dx) / RADIANS;
  const [, across] = axes({ angle });
  const width = third ? Math.abs((third.x - x) * across.x + (third.y - y) * across.y) : 0;
  return normalized({ x, y, rx: length / 2, ry: Math.max(width, SMALLEST), angle });
}

/** Point of the rim that lies farthest in a direction, from the centre. */
export function support({ rx, ry, angle }, direction) {
  const [u, v] = axes({ angle });
  const a = rx * (u.x * direction.x + u.y * direction.y), b = ry * (v.x * direction.x + v.y * direction.y);
  const length = Math.hypot(a, b);
  return { x: (rx * a * u.x + ry * b * v.x) / length, y: (rx * a * u.y + ry * b * v.y) / length };
}

/** Coordinates of a point along the axes, from the centre. */
export function along(ellipse, point) {
  const [u, v] = axes(ellipse);
  const dx = point.x - ellipse.x, dy = point.y - ellipse.y;
  return { u: dx * u.x + dy * u.y, v: dx * v.x + dy * v.y };
}

/** Value below 1 inside, 1 on the rim, above 1 outside. */
export function depth(ellipse, point) {
  const { u, v } = along(ellipse, point);
  return Math.hypot(u / ellipse.rx, v / ellipse.ry);
}

/** Distance of a point from the rim, to first order; exact on a circle. */
export function rimDistance(ellipse, point) {
  const { u, v } = along(ellipse, point);
  const value = Math.hypot(u / ellipse.rx, v / ellipse.ry);
  if (value === 0) return Math.min(ellipse.rx, ellipse.ry);
  const slope = Math.hypot(u / ellipse.rx ** 2, v / ellipse.ry ** 2) / value;
  return Math.abs(value - 1) / slope;
}

/** Points of the four axis handles and of the handle that rotates, `reach` beyond the end of the first axis. */
export function handles(ellipse, reach) {
  const [u, v] = axes(ellipse);
  const at = (a, b) => ({ x: ellipse.x + a * u.x + b * v.x, y: ellipse.y + a * u.y + b * v.y });
  const { rx, ry } = ellipse;
  return { east: at(rx, 0), west: at(-rx, 0), south: at(0, ry), north: at(0, -ry), turn: at(rx + reach, 0) };
}

/** Ellipse with the named handle pulled to a point; the centre stays. `steps` turns by whole 15 degrees. */
export function pulled(ellipse, handle, point, steps = false) {
  const { u, v } = along(ellipse, point);
  if (handle === "east" || handle === "west") return { ...ellipse, rx: Math.max(Math.abs(u), SMALLEST) };
  if (handle === "north" || handle === "south") return { ...ellipse, ry: Math.max(Math.abs(v), SMALLEST) };
  const angle = Math.atan2(point.y - ellipse.y, point.x - ellipse.x) / RADIANS;
  return normalized({ ...ellipse, angle: steps ? Math.round(angle / 15) * 15 : angle });
}

/** Ellipse with its centre in the image of the given size, and axes no longer than `longest`. */
export function bounded(ellipse, { width, height }, longest) {
  const clamp = (value, high) => Math.min(Math.max(value, 0), high);
  const axis = (value) => Math.min(Math.max(value, SMALLEST), longest);
  const { x, y, rx, ry } = ellipse;
  return { ...ellipse, x: clamp(x, width), y: clamp(y, height), rx: axis(rx), ry: axis(ry) };
}

/** Full axes as text, the longer first: `12.4 x 8.1 mm`, in pixels if the pixel size is unknown. */
export function sizeText(ellipse, mmPerUnit) {
  const scale = 2 * (mmPerUnit ?? 1);
  const [long, short] = [ellipse.rx, ellipse.ry].sort((a, b) => b - a).map((axis) => (axis * scale).toFixed(1));
  return `${long} × ${short} ${mmPerUnit ? "mm" : "px"}`;
}

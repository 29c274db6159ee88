"""Compiled part of `overread.marks._ellipse`: the overlap area of two ellipses.

The larger ellipse is mapped to the unit circle, and the frame is turned so that the other one, B, has its axes p >= q
along x and y and its centre (h, k) in the first quadrant. The circle's point at angle t is in B when

    f(t) = ((cos t - h) / p)^2 + ((sin t - k) / q)^2 - 1 < 0,

and f = 0 is the quartic of the intersection in tan(t / 2). Its real roots are isolated by the turning points
of f: the lowest lies in the first quadrant, the highest in the third, none in the fourth, and in the second
either none or one maximum and one minimum (inside the astroid of the ellipse's normals). Between two of them
f is monotone, so that safeguarded Newton steps find each root.
"""

import math

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel

EPS = 2.220446049250313e-16
MAX_STEPS = 100


@kernel
def _slope_root(a: float, h: float, k: float, negative: float, positive: float, t: float) -> float:
    """Angle in a bracket where f' ~ a sin t cos t + h sin t - k cos t changes its sign, from a first guess t.

    f is flat at its turning points, so that a last Newton step of 1e-7 leaves it exact.
    """
    if not min(negative, positive) < t < max(negative, positive):
        t = 0.5 * (negative + positive)
    for _ in range(MAX_STEPS):
        s, c = math.sin(t), math.cos(t)
        g = (a * c + h) * s - k * c
        if g > 0.0:
            positive = t
        elif g < 0.0:
            negative = t
        else:
            return t
        slope = a * (c * c - s * s) + h * c + k * s
        # a slope with the wrong sign is at another turning point
        step = g / slope if slope * (positive - negative) > 0.0 else math.inf
        if abs(step) <= 1e-7 or abs(positive - negative) <= 4.0 * EPS:
            return t - step if abs(step) <= 1e-7 else t
        t -= step
        if not min(negative, positive) < t < max(negative, positive):
            t = 0.5 * (negative + positive)
    return t


@kernel
def _inside_test(t: float, h: float, k: float, p: float, q: float) -> float:
    """f(t): negative where the circle's point at angle t is inside B."""
    x, y = (math.cos(t) - h) / p, (math.sin(t) - k) / q
    return x * x + y * y - 1.0


@kernel
def crossing(
    h: float, k: float, p: float, q: float, inside: float, low: float, outside: float, high: float
) -> float:
    """Root of f between an angle where it is low < 0 and one where it is high > 0, by Newton steps.

    After a step of 1e-9 Newton's error is below 1e-17, in f and so in the area.
    """
    # exact for a cosine, which f is when B is a circle in this frame
    share = math.acos(max(-1.0, min(1.0, (high + low) / (high - low)))) / math.pi
    t = inside + share * (outside - inside)
    last = abs(outside - inside)
    for _ in range(MAX_STEPS):
        s, c = math.sin(t), math.cos(t)
        x, y = (c - h) / p, (s - k) / q
        f = x * x + y * y - 1.0
        if f < 0.0:
            inside = t
        elif f > 0.0:
            outside = t
        else:
            return t
        slope = 2.0 * (y * c / q - x * s / p)
        step = f / slope if slope * (outside - inside) > 0.0 else math.inf
        if abs(step) <= 1e-9 or abs(outside - inside) <= 4.0 * EPS:
            return t - step if abs(step) <= 1e-9 else t
        new = t - step
        if not min(inside, outside) < new < max(inside, outside) or abs(step) > 0.5 * last:
            new = 0.5 * (inside + outside)
        last = abs(new - t)
        t = new
    return t


@kernel
def _ellipse_piece(start: float, end: float, h: float, k: float, p: float, q: float) -> float:
    """Green's integral of (x dy - y dx) / 2 along B's arc from one point of the circle to another.

    It is the area between the arc and its chord, plus the chord's shoelace term.
    """
    x0, y0, x1, y1 = math.cos(start), math.sin(start), math.cos(end), math.sin(end)
    u, v = (x0 - h) / p, (y0 - k) / q
    du, dv = (x1 - x0) / p, (y1 - y0) / q
    arc = math.atan2(u * dv - v * du, u * (u + du) + v * (v + dv))
    if arc < 0.0:
        arc += 2.0 * math.pi
    return 0.5 * (p * q * (arc - math.sin(arc)) + x0 * y1 - x1 * y0)


@kernel
def _astroid_angle(a: float, h: float, k: float) -> float:
    """Angle between the two turning points of the second quadrant, or -1 if there are none.

    There are two when h^(2/3) + k^(2/3) < a^(2/3).
    """
    if max(h, k) >= a:
        return -1.0
    root_h, root_k = h ** (1.0 / 3.0), k ** (1.0 / 3.0)
    if root_h * root_h + root_k * root_k >= a ** (2.0 / 3.0):
        return -1.0
    return math.pi - (math.atan2(root_k, root_h) if root_h + root_k > 0.0 else 0.25 * math.pi)


@kernel
def _circle_overlap(h: float, k: float, p: float, q: float) -> float:
    """Overlap of the unit circle with B, where h, k >= 0 and p >= q."""
    # the error of f; taking |f| <= tol for a touch changes the area by at most tol times the area of B
    tol = 16.0 * EPS * (1.0 + (1.0 + h) / p + (1.0 + k) / q)
    ratio = (q / p) * (q / p)
    a, hs = 1.0 - ratio, h * ratio
    # the first guesses are a step of the fixed points tan t = k / (h + a cos t) and (k + a sin t) / h
    norm = math.hypot(hs, k) if hs + k > 0.0 else math.inf
    lowest = _slope_root(a, hs, k, 0.0, 0.5 * math.pi, math.atan2(k, hs + a * hs / norm))
    highest = _slope_root(a, hs, k, 1.5 * math.pi, math.pi, math.pi + math.atan2(k + a * k / norm, hs))
    low, high = _inside_test(lowest, h, k, p, q), _inside_test(highest, h, k, p, q)
    if high <= tol:
        return math.pi
    if low >= -tol:
        return math.pi * p * q if h * h + k * k < 1.0 else 0.0
    start = crossing(h, k, p, q, lowest + 2.0 * math.pi, low, highest, high) - 2.0 * math.pi
    first_inside, last_outside = lowest, highest
    split = _astroid_angle(a, hs, k)
    if split > 0.0:
        top = _slope_root(a, hs, k, split, 0.5 * math.pi, 0.0)
        bottom = _slope_root(a, hs, k, split, math.pi, 0.0)
        f_top, f_bottom = _inside_test(top, h, k, p, q), _inside_test(bottom, h, k, p, q)
        if f_top > tol and f_bottom < -tol:
            leave = crossing(h, k, p, q, lowest, low, top, f_top)
            enter = crossing(h, k, p, q, bottom, f_bottom, top, f_top)
            end = crossing(h, k, p, q, bottom, f_bottom, highest, high)
            arcs = 0.5 * (leave - start + end - enter)
            return arcs + _ellipse_piece(leave, enter, h, k, p, q) + _ellipse_piece(end, start, h, k, p, q)
        if f_top > tol:
            last_outside, high = top, f_top
        elif f_bottom < 0.0:
            first_inside, low = bottom, f_bottom
    end = crossing(h, k, p, q, first_inside, low, last_outside, high)
    return 0.5 * (end - start) + _ellipse_piece(end, start, h, k, p, q)


@kernel
def _comes_first(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Whether `first` is the larger ellipse; equal areas are ordered by their other numbers."""
    # compared, not subtracted: a fused a b - c d has no sign that swaps with its arguments
    area, other_area = first[2] * first[3], second[2] * second[3]
    if area != other_area:
        return area > other_area
    for column in range(5):
        if first[column] != second[column]:
            return first[column] > second[column]
    return True


@kernel
def overlap_one(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Overlap area of two ellipses (x, y, semi-major, semi-minor, angle in degrees)."""
    large, small = (first, second) if _comes_first(first, second) else (second, first)
    dx, dy = small[0] - large[0], small[1] - large[1]
    reach = large[2] + small[2]
    if dx * dx + dy * dy >= reach * reach:
        return 0.0
    angle, turn = math.radians(large[4]), math.radians(small[4] - large[4])
    c, s = math.cos(angle), math.sin(angle)
    x, y = (c * dx + s * dy) / large[2], (c * dy - s * dx) / large[3]
    c, s = math.cos(turn), math.sin(turn)
    ux, uy = small[2] * c / large[2], small[2] * s / large[3]
    vx, vy = -small[3] * s / large[2], small[3] * c / large[3]
    xx, yy, xy = ux * ux + vx * vx, uy * uy + vy * vy, ux * uy + vx * vy
    p = math.sqrt(0.5 * (xx + yy + math.hypot(xx - yy, 2.0 * xy)))
    q = min(p, (small[2] / large[2]) * (small[3] / large[3]) / p)
    axis = 0.5 * math.atan2(2.0 * xy, xx - yy)
    c, s = math.cos(axis), math.sin(axis)
    area = _circle_overlap(abs(c * x + s * y), abs(c * y - s * x), p, q)
    area = max(0.0, min(area, math.pi * p * q, math.pi))
    return area * large[2] * large[3]


@kernel
def overlap_many(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Overlap area of each row of `first` with the same row of `second`."""
    areas = np.empty(len(first))
    for row in range(len(first)):
        areas[row] = overlap_one(first[row], second[row])
    return areas

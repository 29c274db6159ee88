"""Sections 2.1 and 3: merging and soft labels as one plain procedure, against `merge_marks` on crowded images.

Areas come from shapely's polygons; of two marks the larger represents the object, so that nothing is drawn at random.
"""

import math

import numpy as np
import pandas as pd
import pytest
from shapely import Polygon

from overread.study import parse_settings
from overread.truth import LabelOptions, MergeOptions, merge_marks

T0 = 0.63


def draw_marks(seed, image):
    """Marks of five readers around two or three places, second marks of a reader on one place among them."""
    random = np.random.default_rng(seed)
    places = random.uniform(30, 90, (random.integers(2, 4), 2))
    rows = []
    for reader in range(5):
        for x, y in places:
            for _ in range(random.choice([0, 1, 1, 1, 2])):
                major = math.exp(random.normal(2.0, 0.35))
                axes = (major, major * random.uniform(0.6, 1))
                rows.append(
                    (image, f"r{reader}", *(random.normal((x, y), 2.0)), *axes, random.uniform(0, 180))
                )
    names = ["image_id", "reader_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    return pd.DataFrame(rows, columns=names).assign(mark_id=[f"{image}-{k:03d}" for k in range(len(rows))])


def draw_polygon(mark, n=720):
    t, turn = np.linspace(0, 2 * np.pi, n, endpoint=False), math.radians(mark["angle_deg"])
    u, v = mark["semi_major_mm"] * np.cos(t), mark["semi_minor_mm"] * np.sin(t)
    x = mark["x_mm"] + u * math.cos(turn) - v * math.sin(turn)
    return Polygon(np.column_stack([x, mark["y_mm"] + u * math.sin(turn) + v * math.cos(turn)]))


class Marks:
    """Marks of one image: what section 2.1 asks of them."""

    def __init__(self, table):
        self.marks = table.to_dict("records")
        self.polygons = [draw_polygon(mark) for mark in self.marks]
        self.sizes = [2 * math.sqrt(mark["semi_major_mm"] * mark["semi_minor_mm"]) for mark in self.marks]

    def share(self, i, j):
        """S_ij / max(S_i, S_j)."""
        one, other = self.polygons[i], self.polygons[j]
        return one.intersection(other).area / max(one.area, other.area)

    def threshold(self, i, j):
        one, other = self.marks[i], self.marks[j]
        small, large = sorted([self.sizes[i], self.sizes[j]])
        distance = math.hypot(one["x_mm"] - other["x_mm"], one["y_mm"] - other["y_mm"])
        similar = small / large > 0.7 and distance / large < 0.1
        return min(T0, T0 / 20 * (large if similar else small))

    def hit(self, i, j):
        return self.share(i, j) > self.threshold(i, j)

    def form_groups(self, members, pairs):
        """Steps 2 to 5 on a list of marks: scores once, then seeds with what they hit and is still on the list."""
        hits = {i: {j for j in members if frozenset((i, j)) in pairs} for i in members}
        total = {i: round(sum(self.share(i, j) for j in hits[i]), 6) for i in members}
        rest, groups = set(members), []
        while rest:
            seed = max(rest, key=lambda i: (len(hits[i]), total[i], self.sizes[i]))
            groups.append({seed} | (hits[seed] & rest))
            rest -= groups[-1]
        return groups

    def represent(self, group):
        """Mark of the median size, the lower one of an even number; of two the larger."""
        order = sorted(group, key=lambda i: self.sizes[i])
        return order[1] if len(order) == 2 else order[(len(order) - 1) // 2]

    def merge(self):
        everyone = range(len(self.marks))
        reader = [mark["reader_id"] for mark in self.marks]
        pairs = {frozenset((i, j)) for i in everyone for j in range(i) if self.hit(i, j)}
        between = {pair for pair in pairs if len({reader[i] for i in pair}) == 2}
        groups = self.form_groups(everyone, between)
        # "Coinciding primary GTs": their representatives hit each other, whoever drew them.
        while True:
            chosen = {self.represent(group): group for group in groups}
            if not any(frozenset((i, j)) in pairs for i in chosen for j in chosen if i < j):
                return groups
            joined = self.form_groups(list(chosen), pairs)
            groups = [set().union(*(chosen[i] for i in group)) for group in joined]


def label_plainly(n_readers, n_readings, n_min, n_max):
    """Section 3: the share of readers; of one reader k_d 2 / n_max, falling with the readings."""
    if n_readers >= 2:
        return n_readers / n_readings
    return (1 / 8 * 2 / n_max) / (n_readings / n_min)


@pytest.mark.parametrize("preset", ["", "paper"])
def test_objects_and_labels_are_those_of_the_plain_procedure(preset):
    settings = parse_settings({"preset": preset, "merging": {"pair_representative": "larger"}})
    tables = {f"i{k:02d}": draw_marks(100 + k, f"i{k:02d}") for k in range(12)}
    # Five readers marked; up to three more read the image and marked nothing.
    n_readings = {image: 5 + k % 4 for k, image in enumerate(tables)}
    readings = [(image, f"r{k}") for image, n in n_readings.items() for k in range(n)]
    options = MergeOptions(**dict(settings.merging))
    labels: LabelOptions = settings.labels.make_options()
    truth = merge_marks(
        pd.concat(tables.values(), ignore_index=True),
        pd.DataFrame(readings, columns=["image_id", "reader_id"]),
        options=options,
        labels=labels,
    )
    n_max = 25 if preset else 8
    n_twice = 0
    for image, table in tables.items():
        plain, found = Marks(table), truth[truth["image_id"] == image].set_index("mark_ids")
        groups = plain.merge()
        assert len(groups) == len(found)
        for group in groups:
            row = found.loc[[tuple(sorted(plain.marks[i]["mark_id"] for i in group))]].iloc[0]
            readers = {plain.marks[i]["reader_id"] for i in group}
            shown = plain.marks[plain.represent(group)]
            assert (row["n_marks"], row["n_readers"]) == (len(group), len(readers))
            assert (row["x_mm"], row["y_mm"]) == (shown["x_mm"], shown["y_mm"])
            assert row["golden"] == (len(readers) > 1)
            n = n_readings[image]
            assert row["probability"] == pytest.approx(label_plainly(len(readers), n, 5, n_max))
            assert row["weight"] == pytest.approx(n / n_max)
            n_twice += len(group) > len(readers)
    assert len(truth) > 30
    assert truth["golden"].mean() < 0.9
    assert n_twice

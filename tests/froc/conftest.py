"""A slow FROC from the definition, and random problems, for the tests of the fast one."""

import math

import numpy as np
import pandas as pd
import pytest

from overread.froc import Matching


class Definition:
    """FROC by counting, one threshold and one candidate at a time; shares no code with the package."""

    @staticmethod
    def is_hit(candidate, gt):
        """Centre in the ellipse with semi-axes of at least 5 mm (the default rule)."""
        a, b = max(gt.semi_major_mm, 5.0), max(gt.semi_minor_mm, 5.0)
        dx, dy, turn = candidate.x_mm - gt.x_mm, candidate.y_mm - gt.y_mm, math.radians(gt.angle_deg)
        along = dx * math.cos(turn) + dy * math.sin(turn)
        across = -dx * math.sin(turn) + dy * math.cos(turn)
        return candidate.image_id == gt.image_id and (along / a) ** 2 + (across / b) ** 2 <= 1

    @classmethod
    def at_threshold(cls, candidates, truth, threshold, *, single_reader):
        """(FPs, GTs found, images found) of the candidates with a score >= threshold."""
        shown = [c for c in candidates.itertuples() if c.score >= threshold]
        gts = list(truth.itertuples())
        targets = [g for g in gts if g.golden or single_reader == "hit"]
        others = [g for g in gts if g not in targets] if single_reader == "ignore" else []
        fps = sum(not any(cls.is_hit(c, g) for g in [*targets, *others]) for c in shown)
        found = [g for g in targets if any(cls.is_hit(c, g) for c in shown)]
        return fps, len(found), len({g.image_id for g in found})

    @staticmethod
    def sensitivity_at(matching, fp_target, images=None):
        """(GT, image) sensitivity at the lowest threshold with at most fp_target FP per image.

        ``images``: codes of the images, with repetition, that make up the sample.
        """
        sample = range(matching.n_images) if images is None else images
        fps, gts, bests = [], [], []
        for image in sample:
            fps += [s for s, i in zip(matching.fp_scores, matching.fp_images, strict=True) if i == image]
            own = [s for s, i in zip(matching.gt_scores, matching.gt_images, strict=True) if i == image]
            gts += own
            bests += [max(own)] if own else []
        thresholds = sorted({s for s in fps + gts if s > -math.inf} | {math.inf}, reverse=True)
        chosen = math.inf
        for t in thresholds:
            if sum(s >= t for s in fps) / len(sample) > fp_target:
                break
            chosen = t
        n_images = len(sample)
        return (
            sum(s >= chosen for s in gts) / len(gts) if gts else math.nan,
            sum(s >= chosen for s in bests) / len(bests) if bests else math.nan,
            sum(s >= chosen for s in fps) / n_images,
        )


@pytest.fixture(scope="session")
def definition():
    return Definition


def tables(draw_seed, n_images, n_candidates, n_gts, n_scores):
    """Crowded little images: many hits, shared candidates, ties when n_scores is small."""
    rng = np.random.default_rng(draw_seed)
    ids = [f"i{k}" for k in range(n_images)]
    scores = rng.integers(0, n_scores, n_candidates) - n_scores // 2
    candidates = pd.DataFrame(
        {
            "image_id": rng.choice(ids, n_candidates),
            "candidate_id": [f"c{k}" for k in range(n_candidates)],
            "x_mm": rng.uniform(0, 40, n_candidates),
            "y_mm": rng.uniform(0, 40, n_candidates),
            "score": scores / 4.0,
        }
    )
    major = rng.uniform(4, 12, n_gts)
    readers = rng.integers(1, 4, n_gts)
    truth = pd.DataFrame(
        {
            "image_id": rng.choice(ids, n_gts),
            "truth_id": [f"g{k}" for k in range(n_gts)],
            "x_mm": rng.uniform(0, 40, n_gts),
            "y_mm": rng.uniform(0, 40, n_gts),
            "semi_major_mm": major,
            "semi_minor_mm": major * rng.uniform(0.4, 1, n_gts),
            "angle_deg": rng.uniform(0, 180, n_gts),
            "n_readers": readers,
            "golden": readers >= 2,
        }
    )
    patients = [f"p{k}" for k in rng.integers(0, max(1, n_images * 2 // 3), n_images)]
    return candidates, truth, pd.DataFrame({"image_id": ids, "patient_id": patients})


@pytest.fixture(scope="session")
def make_tables():
    return tables


def random_matching(seed, n_patients=30, n_scores=10**6, gts_per_image=0.8, fps_per_image=4.0):
    """Events with patients of one to three images and, for small n_scores, ties."""
    rng = np.random.default_rng(seed)
    patients = np.repeat(np.arange(n_patients), rng.integers(1, 4, n_patients))
    n = len(patients)
    fp_images = np.repeat(np.arange(n), rng.poisson(fps_per_image, n))
    gt_images = np.repeat(np.arange(n), rng.poisson(gts_per_image, n))
    gt_scores = rng.integers(n_scores // 2, n_scores + n_scores // 2, len(gt_images)).astype(float)
    gt_scores[rng.random(len(gt_scores)) < 0.15] = -np.inf
    return Matching.from_events(
        n_images=n,
        fp_scores=rng.integers(0, n_scores, len(fp_images)),
        fp_images=fp_images,
        gt_scores=gt_scores,
        gt_images=gt_images,
        patients=patients,
    )


@pytest.fixture(scope="session")
def make_matching():
    return random_matching

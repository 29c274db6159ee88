"""Sensitivities and false positives counted again from a run's tables, without the package's own matching."""

import math
from collections import defaultdict

from overread.study import Run
from study_chain import show_by_hand

BOTH = {"training", "validation"}


class Recount:
    """Sensitivities and false positives by hand: loops over images, candidates and objects."""

    def __init__(
        self,
        run: Run,
        model: str,
        parts: set[str],
        column: str,
        *,
        single_reader: str,
        repeats: str = "suppress",
    ) -> None:
        images = run.table("images")
        self.images = [row.image_id for row in images.itertuples() if row.split in parts]
        candidates = run.table("candidates").merge(run.table("scores"), on=["image_id", "candidate_id"])
        candidates = candidates[candidates["image_id"].isin(self.images)].reset_index(drop=True)
        shown = show_by_hand(candidates, candidates[column].tolist())
        assert 0 < shown.sum() < len(shown)
        if repeats == "count":
            shown[:] = True
        reached = set()
        self.false_scores: list[float] = []
        self.best: dict[tuple[str, str], float] = {}
        truths, found = defaultdict(list), defaultdict(list)
        for row in run.table("truth").itertuples():
            truths[row.image_id].append(row)
        for row, is_shown in zip(candidates.to_dict("records"), shown, strict=True):
            found[row["image_id"]].append({**row, "is_shown": is_shown})
        for image in self.images:
            for truth in truths[image]:
                if truth.golden:
                    self.best[image, truth.truth_id] = -math.inf
            for candidate in found[image]:
                hits = [truth for truth in truths[image] if self.is_hit(candidate, truth)]
                golden = [truth for truth in hits if truth.golden]
                reached |= {(image, truth.truth_id) for truth in golden}
                if not candidate["is_shown"]:
                    continue
                for truth in golden:
                    key = (image, truth.truth_id)
                    self.best[key] = max(self.best[key], candidate[column])
                if not golden and not (hits and single_reader == "ignore"):
                    self.false_scores.append(candidate[column])
        self.reached = reached

    @staticmethod
    def is_hit(candidate: dict, truth) -> bool:
        a, b = max(truth.semi_major_mm, 5.0), max(truth.semi_minor_mm, 5.0)
        angle = math.radians(truth.angle_deg)
        dx, dy = candidate["x_mm"] - truth.x_mm, candidate["y_mm"] - truth.y_mm
        along = dx * math.cos(angle) + dy * math.sin(angle)
        across = -dx * math.sin(angle) + dy * math.cos(angle)
        return (along / a) ** 2 + (across / b) ** 2 <= 1

    def fp_per_image(self, threshold: float) -> float:
        return sum(score >= threshold for score in self.false_scores) / len(self.images)

    def sensitivities(self, threshold: float) -> dict[str, float]:
        found = {key for key, score in self.best.items() if score >= threshold}
        reached = self.reached
        n_images = len({image for image, _ in self.best})
        n_images_reached = len({image for image, _ in reached})
        n_found_images = len({image for image, _ in found})
        return {
            "gt_sensitivity": len(found) / len(self.best),
            "gt_sensitivity_reached": len(found) / len(reached),
            "image_sensitivity": n_found_images / n_images,
            "image_sensitivity_reached": n_found_images / n_images_reached,
        }

    def threshold(self, fp_target: float) -> float:
        """Return the lowest score whose false positives do not exceed the target."""
        scores = {*self.false_scores, *(score for score in self.best.values() if score > -math.inf)}
        allowed = [score for score in scores if self.fp_per_image(score) <= fp_target]
        return min(allowed, default=math.inf)

"""Every part of the package once, small: compiles its kernels, and writes the bytes of all results."""

import sys

import numpy as np

from overread import (
    RVMMIL,
    MergeOptions,
    SoftMILPath,
    bootstrap,
    candidate_cohort,
    extract_features,
    find_anatomy,
    find_candidates,
    from_array,
    merge_marks,
    phantom,
)
from overread.froc import Matching

pixels = phantom(seed=1, mm_per_px=1.0).pixels
radiograph = from_array(pixels, mm_per_px=1.0)
anatomy = find_anatomy(radiograph)
candidates = find_candidates(radiograph, anatomy=anatomy, limit=3)
results = [pixels, anatomy.ribs, candidates[["x_mm", "y_mm", "radius_mm", "response"]]]
results.append(extract_features(radiograph, candidates, anatomy).drop(columns="candidate_id"))
cohort = candidate_cohort(60, n_features=20, seed=1)
for method in ("star", "fusion"):
    truth = merge_marks(cohort.marks, cohort.readings, options=MergeOptions(method=method))
    results.append(truth.select_dtypes("number"))
random = np.random.default_rng(0)
X = random.normal(size=(400, 20))
ids, y = np.repeat(np.arange(100), 4), (random.random(100) < 0.4) * random.integers(1, 5, 100) / 4
path = SoftMILPath(n_alphas=10).fit(X, y, bags=ids)
results += [
    path.coef_path_,
    path.decision_function(X, ids),
    RVMMIL().fit(X, y > 0, bags=ids).decision_function(X, ids),
]
events = {"fp_scores": random.random(300), "fp_images": random.integers(0, 50, 300)}
events |= {"gt_scores": random.random(40), "gt_images": random.integers(0, 50, 40)}
replicates = bootstrap(Matching.from_events(n_images=50, **events), n_bootstrap=200)
results += list(replicates.replicates.values())
sys.stdout.buffer.write(b"".join(np.ascontiguousarray(a).tobytes() for a in results))

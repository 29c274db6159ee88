"""The stages of a run, in order, and the views that they share."""

from __future__ import annotations

from collections.abc import Collection

from overread.study._inputs import StudyInputs
from overread.study._settings import Settings
from overread.study._store import RunFolder
from overread.study.models import MODELS
from overread.study.stages.calibration import calibration_stage, supported_stage
from overread.study.stages.cohort import COHORT, FOLDS, chosen_view
from overread.study.stages.evaluation import results_stage
from overread.study.stages.fitting import PAPER_CHOICE, check_stage, fit_stage, tuning_stages
from overread.study.stages.images import (
    QUARANTINED,
    Workshop,
    gather_stage,
    images_stage,
    places_stage,
    shards_view,
)
from overread.study.stages.nested import OUTER_FOLDS, nested_detector_stage, nested_stages
from overread.study.stages.pages import FIGURES, HEAD, MODEL_CARD, REPORT, detector_stage, pictures_stage
from overread.study.stages.scores import MATCHED, MATCHED_DETECTOR, OPERATING_POINTS, scores_stage
from overread.study.stages.stage import Stage, View
from overread.study.stages.truth import CHECK_PARTS, SPLIT, TRUTH

# Done before the others can be planned: they decide whether there is a test set.
PREPARATION = (TRUTH, SPLIT, CHECK_PARTS)

NONE_QUARANTINED = View("quarantined", reads=(), make=lambda inputs: [], key=list)


def plan_stages(
    inputs: StudyInputs,
    settings: Settings,
    workshop: Workshop,
    *,
    n_outer_folds: int,
    skipped: Collection[str] = (),
    failed: Collection[str] = (),
) -> list[Stage]:
    """List the stages of a run after its `PREPARATION`.

    Those up to the check of the models are the same whichever models are skipped.
    """
    is_nested = n_outer_folds > 0
    wanted = [name for name in settings.models.wanted if name not in skipped]
    models = [MODELS[name] for name in wanted]
    own_candidates = inputs.candidates is not None
    has_images = inputs.needs_images
    return [
        *([images_stage(workshop, own_candidates=own_candidates)] if has_images else []),
        gather_stage(own_features=not has_images),
        *([places_stage(own_candidates=own_candidates)] if has_images else []),
        check_stage([MODELS[name] for name in settings.models.wanted]),
        *([PAPER_CHOICE] if "soft" in wanted else []),
        *(stage for model in models for stage in tuning_stages(model, settings.models.folds)),
        *(fit_stage(model) for model in models),
        *(stage for model in models if is_nested for stage in nested_stages(model, n_outer_folds)),
        *([nested_detector_stage(wanted)] if is_nested else []),
        *(calibration_stage(name) for name in wanted),
        supported_stage(wanted),
        scores_stage(wanted, is_nested=is_nested),
        OPERATING_POINTS,
        results_stage(wanted, is_nested=is_nested, has_failed=bool(failed)),
        # A detector finds its own candidates as this package does, so it cannot be trained on others.
        *([] if own_candidates or not workshop.pipeline.is_own else [detector_stage(wanted)]),
        pictures_stage(has_images=has_images),
        FIGURES,
        HEAD,
        MODEL_CARD,
        REPORT,
    ]


def list_views(inputs: StudyInputs, settings: Settings, folder: RunFolder) -> list[View]:
    """List the views that the stages of a run share."""
    return [
        *([shards_view(folder), QUARANTINED] if inputs.needs_images else [NONE_QUARANTINED]),
        COHORT,
        FOLDS,
        OUTER_FOLDS,
        *(chosen_view(name) for name in settings.models.wanted),
        MATCHED,
        MATCHED_DETECTOR,
    ]

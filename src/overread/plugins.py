"""Protocols, registries and helpers for extensions: families, formats, finders, penalties, models, stages."""

from overread._plots import empty_figure, save_figure
from overread._sections import Section
from overread.domains import (
    FINDERS,
    CandidateFinder,
    Domain,
    FinderEntry,
    candidate_table,
    fill_padding,
    find_peaks,
    lies_on_image,
    list_kinds,
    search_region,
)
from overread.features import (
    FAMILIES,
    N_ANGLES,
    Catalogue,
    Context,
    Family,
    Feature,
    band_mean,
    describe_features,
    sector_means,
    stack_columns,
)
from overread.marks import FORMATS, MarkSetBuilder
from overread.models import PENALTIES, Penalty
from overread.study import MODELS, Inputs, Stage, StudyModel
from overread.tables import parse_number, read_cells
from overread.truth import HIT_RULES, SLACK, HitRule, make_hit_rule, rule_parameter

__all__ = [
    "FAMILIES",
    "FINDERS",
    "FORMATS",
    "HIT_RULES",
    "MODELS",
    "N_ANGLES",
    "PENALTIES",
    "SLACK",
    "CandidateFinder",
    "Catalogue",
    "Context",
    "Domain",
    "Family",
    "Feature",
    "FinderEntry",
    "HitRule",
    "Inputs",
    "MarkSetBuilder",
    "Penalty",
    "Section",
    "Stage",
    "StudyModel",
    "band_mean",
    "candidate_table",
    "describe_features",
    "empty_figure",
    "fill_padding",
    "find_peaks",
    "lies_on_image",
    "list_kinds",
    "make_hit_rule",
    "parse_number",
    "read_cells",
    "rule_parameter",
    "save_figure",
    "search_region",
    "sector_means",
    "stack_columns",
]

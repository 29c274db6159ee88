"""One self-contained HTML page: text, tables and figures, no network."""

from overread.report.content import ModelContent, PairedComparison, StudyContent
from overread.report.gallery import Crop, crop_around
from overread.report.page import Page
from overread.report.study_page import study_page

__all__ = ["Crop", "ModelContent", "Page", "PairedComparison", "StudyContent", "crop_around", "study_page"]

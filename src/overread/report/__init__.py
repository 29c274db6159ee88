"""One self-contained HTML page: text, tables and figures, no network."""

from overread.report.page import Page

__all__ = ["Page"]

"""Building blocks of pages: one self-contained HTML file of sections, tables and figures."""

from .report import Report, Section

__all__ = ["Report", "Section"]

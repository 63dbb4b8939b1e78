"""A report shows a run to a person: one HTML file that works offline, and in which nothing of a trace can run."""

from stepjudge.report.page import report
from stepjudge.report.writing import write_report

__all__ = ["report", "write_report"]

"""Formats are the ways harnesses write traces down: one module each, found by itself, read without naming it."""

from stepjudge.formats.reading.format import Format
from stepjudge.formats.reading.reader import read_bytes, read_document, read_file
from stepjudge.formats.reading.registry import formats

__all__ = ["Format", "formats", "read_bytes", "read_document", "read_file"]

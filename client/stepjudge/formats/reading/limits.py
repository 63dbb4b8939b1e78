"""Limits on what is read, so that no document can take the machine. Sizes are in bytes, after unpacking."""

MAX_DOCUMENT_BYTES = 512 * 2**20
"""One JSON document, one line of JSONL, or all events of one trace."""
MAX_UNPACKED_BYTES = 16 * 2**30
"""What one compressed file, or one member of an archive, may unpack to."""
MAX_RATIO = 200
"""Unpacked to packed size, looked at beyond RATIO_FREE_BYTES. Logs reach about 30."""
RATIO_FREE_BYTES = 64 * 2**20
MAX_FILES = 100_000
"""Files in one folder or archive."""

MAX_DEPTH = 128
"""Levels of lists and objects in a document."""
MAX_DEPTH_WITHIN = 64
"""Levels in a value that is carried as it is (arguments, schemas, `extra`), so that a trace of it stays under MAX_DEPTH."""
MAX_VALUES = 10_000_000
"""Values on one level of a document."""
MAX_DIGITS = 4300
"""Digits of an integer: CPython's own limit for converting one to text or back."""

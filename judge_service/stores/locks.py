"""A lock file gives every key a lock of its own: one byte of it. The kernel frees it when the process ends, however."""

import errno
import hashlib
import os
import struct
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # no such locks on this system: each process judges for itself
    fcntl = None

_TAKEN = (errno.EAGAIN, errno.EACCES)


class KeyLocks:
    """Locks by key, between processes and between openings of the file in one process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def claim(self, key: str) -> bool:
        """Take the lock, unless somebody has it. Where the file system knows no locks, everybody gets it."""
        try:
            self._set(key, claim=True)
        except OSError as error:
            return error.errno not in _TAKEN
        return True

    def release(self, key: str) -> None:
        try:
            self._set(key, claim=False)
        except OSError:
            return

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _set(self, key: str, *, claim: bool) -> None:
        if fcntl is None:
            return
        place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:7])
        kind = fcntl.F_WRLCK if claim else fcntl.F_UNLCK
        if hasattr(fcntl, "F_OFD_SETLK"):
            # belongs to this opening of the file; the older kind ends when anybody in the process closes the file
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, os.SEEK_SET, place, 1, 0))
        else:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB if claim else fcntl.LOCK_UN, 1, place)

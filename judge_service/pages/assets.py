"""An asset is a file that pages load: our own styles and scripts, and libraries that are shipped with them. None is from elsewhere."""

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from stepjudge import report

PREFIX = "/audit"

_OWN = Path(__file__).parent / "static"
_REPORT = Path(report.__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

router = APIRouter(include_in_schema=False)


def asset(name: str) -> str:
    """The path of an asset below the audit room; it changes with the content, so that browsers may keep it."""
    return f"/static/{hashlib.sha256(_content(name)).hexdigest()[:16]}/{name}"


@router.get("/static/{digest}/{name}")
async def get_asset(digest: str, name: str) -> Response:
    if name not in _files() or asset(name) != f"/static/{digest}/{name}":
        return Response("no such asset", 404, media_type="text/plain")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(_content(name), headers=headers, media_type=_TYPES[Path(name).suffix])


@cache
def _files() -> dict[str, Path]:
    """Reports and pages look alike, because they share these files of the report."""
    shared = [_REPORT / "report.css", _REPORT / "theme.js", _REPORT / "vendor" / "chart.umd.min.js"]
    own = [path for path in sorted(_OWN.rglob("*")) if path.suffix in _TYPES]
    return {path.name: path for path in [*shared, *own]}


@cache
def _content(name: str) -> bytes:
    # the maps that libraries speak of are not shipped, and looking for them would be a request
    return _files()[name].read_bytes().partition(b"\n//# sourceMappingURL=")[0]

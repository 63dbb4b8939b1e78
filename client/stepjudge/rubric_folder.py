"""A folder of rubrics holds one YAML file per version; `published.json` beside them says which may never change."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from stepjudge.enclosure import leads_out
from stepjudge.errors import BadRubric
from stepjudge.rubric import Rubric, split_reference, version_order
from stepjudge.rubric_file import read_rubric_file

_DIGESTS = TypeAdapter(dict[str, str])


def published(folder: Path) -> dict[str, str]:
    """The digest of each published `name@version`; none when the folder has no `published.json`."""
    path = folder / "published.json"
    try:
        return _DIGESTS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise BadRubric(f'{path}: cannot be read: it must hold {{"name@version": "sha256:…"}} ({error})') from error


def read_folders(folders: Iterable[Path], published: Mapping[str, str]) -> tuple[Rubric, ...]:
    """All rubrics in some folders and below, by name and version.

    Raises BadRubric with every fault of every file, two files of one name and version among them.
    """
    rubrics: dict[str, Rubric] = {}
    files: dict[str, Path] = {}
    faults: list[str] = []
    for path in _files(folders, faults):
        try:
            rubric = read_rubric_file(path, published=published)
        except BadRubric as error:
            faults.append(str(error))
            continue
        if rubric.reference in files:
            faults.append(f"{path}: {rubric.reference} is also in {files[rubric.reference]}: raise the version of one")
        rubrics[rubric.reference], files[rubric.reference] = rubric, path
    if faults:
        raise BadRubric("\n".join(faults))
    return tuple(sorted(rubrics.values(), key=lambda rubric: (rubric.name, version_order(rubric.version))))


def find(rubrics: Iterable[Rubric], reference: str) -> Rubric:
    """The rubric that `step@1.0.0` means, or the newest version when it is only `step`.

    Raises LookupError that lists what there is.
    """
    rubrics = tuple(rubrics)
    name, version = split_reference(reference)
    meant = [rubric for rubric in rubrics if rubric.name == name and version in (None, rubric.version)]
    if not meant:
        there_is = ", ".join(rubric.reference for rubric in rubrics) or "none"
        raise LookupError(f"no rubric {reference!r}: there is {there_is}")
    return max(meant, key=lambda rubric: version_order(rubric.version))


def _files(folders: Iterable[Path], faults: list[str]) -> Iterable[Path]:
    for folder in {folder.resolve(): folder for folder in folders}.values():
        if not folder.is_dir():
            faults.append(f"{folder}: no such folder of rubrics")
        found = (path for path in folder.rglob("*.y*ml") if path.suffix in (".yaml", ".yml") and path.is_file())
        found = [path for path in found if not _strays(path, folder, faults)]
        # A mounted Kubernetes ConfigMap holds every file twice, once in a hidden folder.
        yield from sorted(path for path in found if not any(n.startswith(".") for n in path.relative_to(folder).parts))


def _strays(path: Path, folder: Path, faults: list[str]) -> bool:
    """Whether a link leads out of the folder. Said as a fault, without anything of what stands there."""
    if strays := leads_out(folder, path):
        faults.append(f"{path}: leads out of the folder of rubrics: put the file itself there")
    return strays

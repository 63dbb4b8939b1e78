"""The shelf holds every version of every rubric that the service can judge by, read once when it is set up."""

from collections.abc import Iterable
from pathlib import Path

from judge_service.errors import RefusedRubric, UnknownRubric
from stepjudge.rubric import Rubric
from stepjudge.rubric_folder import find, published, read_folders


class Shelf:
    """Rubrics by reference. What the shipped folder calls published is refused in any other wording, wherever it is."""

    def __init__(self, shipped: Path, further: Iterable[Path] = ()) -> None:
        self._rubrics = read_folders([shipped, *further], published(shipped))

    def find(self, reference: str) -> Rubric:
        """The rubric `step@1.0.0`, or the newest version of `step`."""
        try:
            return find(self._rubrics, reference)
        except LookupError as error:
            raise UnknownRubric(str(error)) from None

    def admit(self, rubric: Rubric) -> Rubric:
        """A rubric that came with a request. Raises RefusedRubric when it takes the name of one here that differs."""
        for known in self._rubrics:
            if known.reference == rubric.reference and known.digest != rubric.digest:
                raise RefusedRubric(
                    f"{rubric.reference} is on the shelf with other content ({known.digest[:19]}…): "
                    "versions never change, so give your rubric the next version or another name"
                )
        return rubric

    def all(self) -> tuple[Rubric, ...]:
        """Every version of every rubric, by name and version."""
        return self._rubrics

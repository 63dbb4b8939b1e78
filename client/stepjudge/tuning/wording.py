"""A wording is the words of one criterion that may be changed without changing what is asked, of what, or how it counts."""

import json
from collections.abc import Mapping

from pydantic import Field, ValidationError

from stepjudge.rubric import Criterion, Rubric
from stepjudge.value import JsonObject, Value

MAX_LENGTH = 6_000
"""Characters of one text: the words go along with every prompt."""
MAX_ITEMS = 20


class Wording(Value):
    """What a judge is told of a criterion. Examples, units, facts and scoring are no words: they stay."""

    question: str = Field(min_length=1, max_length=1_000)
    definition: str = Field(max_length=MAX_LENGTH)
    yes_when: tuple[str, ...] = Field(max_length=MAX_ITEMS)
    no_when: tuple[str, ...] = Field(max_length=MAX_ITEMS)
    edge_cases: tuple[str, ...] = Field(max_length=MAX_ITEMS)

    @property
    def text(self) -> str:
        """As an optimiser passes it around."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False)


FIELDS = tuple(Wording.model_fields)

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "definition": {"type": "string"},
        **{name: {"type": "array", "items": {"type": "string"}} for name in ("yes_when", "no_when", "edge_cases")},
    },
    "required": list(FIELDS),
    "additionalProperties": False,
}
"""What a model that proposes a wording must answer."""


def wording(criterion: Criterion) -> Wording:
    """The criterion's words as they are."""
    return Wording.model_construct(**{name: getattr(criterion, name) for name in FIELDS})


def reworded(rubric: Rubric, texts: Mapping[str, str]) -> Rubric:
    """The rubric with these wordings, by criterion. Raises ValueError where one is no wording."""
    return rubric.model_copy(
        update={
            "criteria": tuple(
                each.model_copy(update=_fields(texts[each.name])) if each.name in texts else each
                for each in rubric.criteria
            )
        }
    )


def _fields(text: str) -> dict[str, object]:
    try:
        read = Wording.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"no wording: {error.errors(include_url=False, include_input=False)[0]['msg']}") from None
    return {name: getattr(read, name) for name in FIELDS}

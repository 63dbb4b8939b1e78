"""A made value is a domain value put together from members that fit already, without the time of checking them anew."""

from typing import TypeVar

from stepjudge.value import Value

_V = TypeVar("_V", bound=Value)
_set = object.__setattr__
"""A value is frozen for everybody else."""


def made(kind: type[_V], **members: object) -> _V:
    """A value of all its members, in the order of its class and each of the type stated there.

    What pydantic's `model_construct` does, without its search for defaults, which takes longer than the checks. Lists and
    objects among the members must belong to the value alone: here nothing copies them.
    """
    value = kind.__new__(kind)
    _set(value, "__dict__", members)
    _set(value, "__pydantic_fields_set__", set(members))
    _set(value, "__pydantic_extra__", None)
    _set(value, "__pydantic_private__", None)
    return value

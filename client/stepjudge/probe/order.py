"""Order: the rubric's criteria, or the tools on offer, stand in another order."""

from random import Random

from stepjudge.probe.probe import Probe, Subject, Variant


def _criteria(subject: Subject, _random: Random) -> Variant | None:
    rubric = subject.rubric
    if len(rubric.criteria) < 2:
        return None
    # a published name stands for the published order, so it needs one of its own
    reversed_ = {"name": f"{rubric.name}-reversed", "criteria": rubric.criteria[::-1]}
    return Variant(subject.trace, rubric.model_copy(update=reversed_))


def _tools(subject: Subject, _random: Random) -> Variant | None:
    tools = subject.trace.tools
    if len(tools) < 2:
        return None
    return Variant(subject.trace.model_copy(update={"tools": tools[::-1]}))


ORDER = (
    Probe("criteria_reversed", "order", "the rubric's criteria stand in reverse order", _criteria),
    Probe("tools_reversed", "order", "the tools stand in reverse order", _tools),
)

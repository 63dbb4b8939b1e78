"""A small rubric with the shape of the shipped one, so that tests of facts do not move with its wording."""

from stepjudge.rubric import Criterion, Rubric, Scoring

SMALL = Rubric(
    name="small",
    version="1.0.0",
    instructions="Grade one step.",
    criteria=(
        Criterion(name="valid", unit="call", step_takes="all", question="valid?", no_by_fact=("rejected",)),
        Criterion(name="arguments", unit="call", step_takes="all", question="right values?", needs_call=True),
        Criterion(name="relevant", unit="call", step_takes="any", question="relevant?"),
        Criterion(
            name="useful",
            unit="call",
            step_takes="any",
            question="useful?",
            implies=("valid", "relevant"),
            no_by_fact=("empty_result", "failed_result", "repeat"),
        ),
        Criterion(
            name="recovery",
            unit="step",
            question="recovered?",
            implies=("valid", "relevant"),
            names_steps=True,
            not_applicable_when=("Nothing is open.",),
            not_applicable_by_fact=("first_step",),
        ),
    ),
    scoring=Scoring(
        passes=("valid", "relevant", "useful"),
        bad=("valid", "relevant"),
        right_tool=("relevant",),
        arguments="arguments",
        recovery="recovery",
    ),
)

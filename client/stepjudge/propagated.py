"""The propagated reading counts a step as bad that builds on an earlier step's uncorrected error.

By default each step is scored on its own, as if its premises held. Public benchmarks often propagate: 42–87% of the
steps that AgentProcessBench labels −1 follow an earlier one in their trace.
"""

from stepjudge.contract import Scorecard
from stepjudge.metric import Rate, rate


def propagated(card: Scorecard) -> Rate:
    """Passing / scored steps; a step that inherits an error does not pass, whatever it is by itself."""
    return rate(False if step.inherits_from else step.passes for step in card.steps)

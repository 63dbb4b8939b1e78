"""Precision and arguments: whether calls were worth making, and whether those to the right tool said the right thing."""

from stepjudge.headline import HeadlineRate, Pair, Reading
from stepjudge.stats import share_words


class PrecisionAndArguments(Pair):
    """Tool-call precision, beside argument accuracy."""

    precision: HeadlineRate
    """Calls that are valid, relevant and useful / calls issued."""
    arguments: HeadlineRate
    """Calls with accurate arguments / calls with the right tool."""

    def readings(self) -> tuple[Reading, ...]:
        return (
            Reading(label="tool-call precision", text=_words(self.precision)),
            Reading(label="argument accuracy", text=_words(self.arguments)),
        )


def _words(rate: HeadlineRate) -> str:
    return f"{share_words(rate.numerator, rate.denominator, rate.value, rate.interval)}; {rate.reservations}"

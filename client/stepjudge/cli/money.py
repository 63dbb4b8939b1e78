"""Money on the command line: a number of USD, not negative, and finite."""

import math

import click


class Usd(click.ParamType[float]):
    """USD."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            usd = float(str(value))
        except ValueError:
            self.fail(f"{value!r} is no amount of USD", param, ctx)
        if not math.isfinite(usd) or usd < 0:
            self.fail(f"{value!r} is no amount of USD that can be spent", param, ctx)
        return usd

"""`stepjudge config`: the effective settings of the service, without secrets, and where each came from."""

import json

import click


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what is at its default.")
@click.option("--json", "as_json", is_flag=True, help="For machines: every setting with `value` and `source`.")
def config(everything: bool, as_json: bool) -> None:
    """Print what `stepjudge serve` would run with here. Keys and passwords are not shown."""
    from stepjudge.errors import StepjudgeError

    try:
        from judge_service.effective import effective
        from judge_service.settings import Settings, told_plainly
    except ModuleNotFoundError as error:
        raise StepjudgeError(
            f"the service needs more packages ({error.name}): pip install 'stepjudge[service]'"
        ) from error
    try:
        found = effective(Settings(), {})
    except ValueError as error:
        raise StepjudgeError(told_plainly(error)) from error
    if as_json:
        click.echo(json.dumps({each.name: {"value": each.value, "source": each.source} for each in found}, indent=2))
        return
    shown = [each for each in found if everything or each.source != "default"]
    for each in shown:
        click.echo(f"{each.name} = {json.dumps(each.value, ensure_ascii=False)}  # {each.source}")
    if not shown:
        click.echo("every setting is at its default; --all shows them")

"""`stepjudge serve`: run the judge service."""

import click


@click.command()
@click.option("--host", help="Address to listen on. [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on. [default: 8262]")
def serve(host: str | None, port: int | None) -> None:
    """Run the judge service.

    Settings come from STEPJUDGE_… variables, and from the file that STEPJUDGE_CONFIG names.
    """
    from stepjudge.errors import StepjudgeError

    try:
        from judge_service.__main__ import run
        from judge_service.gate import UnsafeAddress
        from judge_service.settings import told_plainly
    except ModuleNotFoundError as error:
        raise StepjudgeError(
            f"the service needs more packages ({error.name}): pip install 'stepjudge[service]'"
        ) from error
    try:
        run(**{name: value for name, value in {"host": host, "port": port}.items() if value is not None})
    except UnsafeAddress as error:
        raise StepjudgeError(str(error)) from error
    except ValueError as error:
        raise StepjudgeError(told_plainly(error)) from error

"""`stepjudge key`: make an API key. The service keeps its hash only."""

import hashlib
import json
import secrets

import click


@click.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "judge", "label", "admin"]),
    default=("read", "judge"),
    show_default=True,
)
def key(name: str, scopes: tuple[str, ...]) -> None:
    """Make a key for NAME: give the key to the caller and its hash to the service."""
    secret = f"sj_{secrets.token_urlsafe(32)}"
    entry = {name: {"sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": list(scopes)}}
    click.echo(f"for the caller:   STEPJUDGE_CLIENT_KEY={secret}")
    click.echo(f"for the service:  STEPJUDGE_API_KEYS='{json.dumps(entry)}'")

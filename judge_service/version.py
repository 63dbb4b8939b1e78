"""The version of the installed distribution; it stands on every verdict."""

from importlib.metadata import version

VERSION = version("stepjudge")

"""Importing this module scores a trace once, so that processes forked from this one have everything imported already."""

from tempfile import TemporaryDirectory

from stepjudge.client import JudgeClient

from fakes.provider import Provider
from killed import document
from scripted import always

with (
    TemporaryDirectory() as folder,
    Provider(always("yes")) as provider,
    JudgeClient.embedded(data_dir=folder, judge="openai/fake", api_base=provider.base_url) as client,
):
    client.score(document(0, 2), on_step=lambda _scored: None)

"""Text from outside stays text: in rubrics, in a shared cache, and in packed files."""
# pyright: basic

import os
import pickle
import zipfile
from functools import partial
from pathlib import Path

import pytest
import redis

from judge_service.cache import Cache
from judge_service.prompt import system_text
from judge_service.stores import open_store
from stepjudge.errors import BadRubric, UnreadableTrace
from stepjudge.formats import read_file
from stepjudge.rubric_file import read_rubric, read_rubric_file, shipped
from stepjudge.suite_file import BadSuite, read_suite
from stepjudge.verdict import Answer, Verdict

from servers import Redis

SYNTAX = "{{ 7*7 }} {% for x in y %} {# c #} ${HOME} $(id) `id` %(x)s %s {0} {x.__class__} <%= 1 %> \\N{DIGIT ONE}"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b]\n"


def test_template_syntax_in_a_rubric_is_only_text() -> None:
    rubric = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    first = rubric.criteria[0].model_copy(update={"question": SYNTAX, "yes_when": (SYNTAX,), "definition": SYNTAX})
    odd = rubric.model_copy(update={"instructions": SYNTAX, "criteria": (first, *rubric.criteria[1:])})
    assert system_text(odd).count(SYNTAX) == 4


@pytest.mark.parametrize("text", [BOMB, "name: !!python/object/apply:os.system ['true']", "name: !include /etc/passwd"])
def test_a_rubric_or_suite_that_would_grow_or_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadRubric, match="not taken"):
        read_rubric(text)
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(BadSuite, match="not taken"):
        read_suite(tmp_path / "suite.yaml")


class Bomb:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


@pytest.mark.parametrize("wrap", [bytes, lambda raw: b"1:" + raw], ids=["bare", "behind our mark"])
async def test_a_pickle_in_a_shared_redis_runs_nothing_and_is_a_miss(
    tmp_path: Path, redis_server: Redis, wrap: type[bytes]
) -> None:
    cache = Cache(partial(open_store, redis_server.url, tmp_path / "cache"), namespace=tmp_path.name)
    await cache.put(
        Verdict(
            verdict_id="v", key="k", step=1, rubric="r", judge="j", answers=(Answer(criterion="valid", answer="yes"),)
        )
    )
    exploded = tmp_path / "exploded"
    with redis.Redis.from_url(redis_server.url) as client:
        (name,) = client.scan_iter(f"stepjudge:verdict:{tmp_path.name}:*")
        client.set(name, wrap(pickle.dumps(Bomb(exploded))))
        assert await cache.get("k") is None
        client.delete(name)
        client.rpush(name, pickle.dumps(Bomb(exploded)))  # a list where a text is expected
        assert await cache.get("k") is None
    assert not exploded.exists()
    cache.close()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93], ids=str)
def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "log.eval"
    if method == 93:
        from backports.zstd import zipfile as module
    else:
        module = zipfile
    with module.ZipFile(path, "w", method) as archive, archive.open("header.json", "w", force_zip64=True) as member:
        member.write(b'{"eval": "')
        for _ in range(80):
            member.write(b"a" * 2**20)
        member.write(b'"}')
    assert path.stat().st_size < 2**20
    with pytest.raises(UnreadableTrace):
        list(read_file(path))

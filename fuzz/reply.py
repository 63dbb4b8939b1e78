# pyright: basic
"""Fuzzes the reading of a model's reply, led by coverage: whatever comes, it is read, and never as more than it says.

    pip install atheris
    python fuzz/reply.py -max_total_time=300

libFuzzer's options follow. A crash is kept as a file; give that file's name to read it again.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

with atheris.instrument_imports(include=["judge_service.reply", "json", "json_repair"]):
    from judge_service.question import things_to_ask
    from judge_service.reply import read, words

from rubrics_for_tests import SMALL
from traces import call, step

FORMS = tuple(things_to_ask(SMALL, step(5, *calls)) for calls in ((), (call(),), (call(), call())))


def one(data: bytes) -> None:
    """What holds for every reply. The first byte chooses what was asked, the rest is the reply."""
    if not data:
        return
    asked = FORMS[data[0] % len(FORMS)]
    text = data[1:].decode("utf-8", "replace")
    for repair in (False, True):
        reply = read(text, asked, index=5, repair=repair)
        assert [(each.criterion, each.call) for each in reply.answers] == [
            (each.criterion.name, each.call) for each in asked
        ]
        for answer, item in zip(reply.answers, asked, strict=True):
            assert (answer.cause is None) == (answer.answer != "undetermined")
            assert answer.answer == "undetermined" or answer.answer in words(item.criterion)
            # an escape may spell a word, so only a reply without any must hold it letter by letter
            assert answer.cause is not None or answer.answer in text or "\\" in text
            assert all(1 <= number < 5 for number in (*answer.fixes, *reply.inherits_from))
            answer.model_dump_json().encode()
        "".join(reply.faults).encode()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()

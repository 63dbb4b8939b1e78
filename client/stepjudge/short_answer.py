"""A short answer is what a message marks as its answer: in tags, in a box, or after the word."""

import re

TAIL = 20_000
"""Characters at the end of a message in which an answer is looked for."""
_LONGEST = 200

_ANSWER_LINE = re.compile(
    r"^[ \t*#>]{0,8}(?:the |my )?(?:final |short )?answer(?: is)?[*_]{0,2} ?[:：][*_]{0,2} ?(.{1,400})$",
    re.IGNORECASE | re.MULTILINE,
)


def short_answer(message: str) -> str | None:
    r"""What stands in the last `<answer>…</answer>` or `\boxed{…}`, or after the last `answer:`."""
    tail = message[-TAIL:]
    start = tail.rfind("<answer>")
    if start >= 0:
        return _short(tail[start + len("<answer>") :].partition("</answer>")[0])
    start = tail.rfind("\\boxed{")
    if start >= 0:
        return _short(_braced(tail[start + len("\\boxed{") :][: 2 * _LONGEST]))
    lines = _ANSWER_LINE.findall(tail)
    return _short(lines[-1]) if lines else None


def _braced(text: str) -> str:
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return text[:place]
    return text


def _short(answer: str) -> str | None:
    answer = answer.strip()
    return answer if 0 < len(answer) <= _LONGEST else None

"""A desk that refunds: traces of one step, people's labels of them, and a judge that follows the words of its rubric.

People allow refunds up to 20 dollars. The judge says yes to every refund, unless its rubric has the phrase RULE.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from stepjudge.cli.main import stepjudge
from stepjudge.client import JudgeClient
from stepjudge.label import Label, Sampling
from stepjudge.label_file import to_jsonl
from stepjudge.rubric import Criterion, Rubric, Scoring

from fakes.provider import Provider, Reply, Request
from scripted import Scripted, asked_step, evidence

RULE = "at most 20 dollars"

PRICE = 1e-6
"""USD per token, asked or answered."""

DESK = Rubric(
    name="desk",
    version="1.0.0",
    instructions="You grade one step of a desk that refunds.",
    criteria=(
        Criterion(name="allowed", unit="step", question="Was the refund allowed?", definition="Think of the policy."),
        Criterion(name="polite", unit="step", question="Was the customer treated politely?"),
    ),
    scoring=Scoring(passes=("allowed", "polite"), bad=("allowed",)),
)


def worded(definition: str, *, version: str = "1.1.0", ask: str = "step") -> Rubric:
    """The desk's rubric with other words for `allowed`."""
    allowed, polite = DESK.criteria
    criteria = (allowed.model_copy(update={"definition": definition}), polite)
    return DESK.model_copy(update={"version": version, "criteria": criteria, "ask": ask})


def refunds(count: int) -> list[dict[str, Any]]:
    """Traces whose one step refunds 10 or 30 dollars, by turns."""
    return [
        {
            "messages": [
                {"role": "user", "content": f"Customer {number} wants the money back."},
                {"role": "assistant", "content": f"I refund {amount(number)} dollars to customer {number}."},
            ]
        }
        for number in range(count)
    ]


def amount(number: int) -> int:
    return 30 if number % 2 else 10


def judging(request: Request) -> dict[str, Any] | Reply:
    """Follows the rule about amounts if the rubric states it."""
    strict = RULE in request.system
    step = asked_step(request)
    dear = "refund 30 dollars" in request.user

    def answer(_step: int, _unit: str, name: str) -> Any:
        if name == "allowed" and strict and dear:
            return {"answer": "no", "reason": "30 is more than 20"}
        return {"answer": "yes", "reason": "nothing speaks against it", "evidence": [evidence(request, step, "step")]}

    return Scripted(answer)(request)


def labelled(client: JudgeClient, documents: Sequence[dict[str, Any]], rubric: Rubric = DESK) -> list[Label]:
    """What people say of each trace's step, after the rule. The traces are kept in the client's ledger."""
    labels: list[Label] = []
    for number, document in enumerate(documents):
        kept = client.keep(document, rubric=rubric)
        for criterion, answer in (("allowed", "no" if amount(number) > 20 else "yes"), ("polite", "yes")):
            labels.append(
                Label.model_validate(
                    {
                        "state_digest": kept.steps[0].state_digest,
                        "step_digest": kept.steps[0].step_digest,
                        "task_digest": kept.task_digest,
                        "trace_id": f"refund-{number}",
                        "step": 1,
                        "rubric": rubric.reference,
                        "rubric_digest": rubric.digest,
                        "criterion": criterion,
                        "answer": answer,
                        "annotator": "ann",
                        "blind": True,
                        "sampling": Sampling(design="uniform", probability=0.5, population=2 * len(documents)),
                    }
                )
            )
    return labels


def label_file(path: Path, labels: Sequence[Label]) -> Path:
    path.write_text("".join(to_jsonl(labels)), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Desk:
    """The command line over the desk's ledger, with a judge called `desk`, and a model called `writer`, at a price."""

    folder: Path
    provider: Provider

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def rubric(self, rubric: Rubric) -> Path:
        """A file of the rubric."""
        path = self.folder / f"{rubric.name}-{rubric.version}.yaml"
        path.write_text(yaml.safe_dump(rubric.model_dump(mode="json", exclude_defaults=True)), encoding="utf-8")
        return path

    def labelled(self, count: int) -> Path:
        """A file of labels of so many refunds, whose traces are in the ledger."""
        with JudgeClient.embedded(data_dir=self.data) as client:
            return label_file(self.folder / "labels.jsonl", labelled(client, refunds(count)))

    def run(self, *arguments: object, status: int = 0) -> str:
        done = self._run(*arguments)
        assert done.exit_code == status, f"{done.output}{done.stderr}{done.exception!r}"
        return done.stdout

    def json(self, *arguments: object, status: int = 0) -> dict[str, Any]:
        return json.loads(self.run(*arguments, "--json", status=status))

    def refused(self, *arguments: object) -> str:
        """What a command that does not go through says."""
        done = self._run(*arguments)
        assert done.exit_code != 0, done.output
        return f"{done.stderr}{done.exception}"

    @property
    def settings(self) -> dict[str, Any]:
        priced = {"input_cost_per_token": PRICE, "output_cost_per_token": PRICE}
        model = {"model": "openai/fake", "api_base": self.provider.base_url, **priced}
        return {"judges": {"desk": model, "writer": {**model, "model": "openai/writer"}}}

    def _run(self, *arguments: object) -> Result:
        env = {
            "STEPJUDGE_DATA_DIR": str(self.data),
            "STEPJUDGE_JUDGES": json.dumps(self.settings["judges"]),
            "COLUMNS": "200",
            **dict.fromkeys(("STEPJUDGE_URL", "STEPJUDGE_JUDGE", "STEPJUDGE_MAX_COST_USD")),
        }
        return CliRunner(env=env).invoke(stepjudge, [*map(str, arguments)])

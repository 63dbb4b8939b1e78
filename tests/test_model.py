"""What is sent to providers, where, and what it costs, where the model judge's tests do not look."""

import base64
import importlib.util
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from judge_service.direct_line import Wire
from judge_service.endpoint import addresses, listed_price_holds, variables
from judge_service.errors import UnknownJudge
from judge_service.limiter import Limiters
from judge_service.messages import messages
from judge_service.model import ModelUnavailable
from judge_service.model_name import NAMED_BY_CALLERS
from judge_service.model_settings import ModelSettings
from judge_service.panel import Panel
from judge_service.prompt import Prompt
from judge_service.provider_error import words
from judge_service.provider_model import ProviderModel
from judge_service.secret import secrets, without_secrets
from judge_service.settings import Settings, unknown_variables
from stepjudge.client import JudgeClient

from fakes.faults import BAD_GATEWAY, CUT_BEFORE, CUT_INSIDE, HANG, SERVER_ERROR, UNAUTHORIZED, Fault, Policy, first
from fakes.provider import Provider
from scripted import always

PROMPT = Prompt(system="rubric", blocks=("task", "step 1", "step 2"), question="question")

LONG = {
    "messages": [
        {"role": "user", "content": "Summarise. " + "words and words " * 600},
        *({"role": "assistant", "content": f"Part {number}."} for number in range(4)),
    ]
}


def test_most_providers_get_plain_text_in_one_stable_order() -> None:
    system, user = messages("openai/gpt-5.2", PROMPT, [])
    assert (system["content"], user["content"]) == ("rubric", "taskstep 1step 2question")


def test_anthropic_gets_blocks_with_marks_after_the_rubric_and_after_the_history() -> None:
    system, user = messages("anthropic/claude-sonnet-5", PROMPT, [])
    marked = [block["text"] for block in (*system["content"], *user["content"]) if "cache_control" in block]
    assert [block["text"] for block in user["content"]] == ["task", "step 1", "step 2", "question"]
    assert marked == ["rubric", "step 2"]


def test_objections_continue_the_conversation_behind_the_cached_prefix() -> None:
    said = messages("openai/gpt-5.2", PROMPT, [("", "bad"), ("x", "still bad")])
    assert [(each["role"], each["content"]) for each in said[2:]] == [
        ("assistant", "(nothing)"),
        ("user", "bad"),
        ("assistant", "x"),
        ("user", "still bad"),
    ]


def test_a_listed_price_is_charged_with_the_discount_for_cached_tokens(tmp_path: Path) -> None:
    with Provider(always("yes")) as provider:
        judge = {"model": "openai/mirrored", "api_base": provider.base_url, "priced_as": "openai/gpt-4o-mini"}
        with JudgeClient.embedded(data_dir=tmp_path, judge="mirror", judges={"mirror": judge}) as client:
            card = client.score(LONG)
        usage = provider.usage

    assert usage.cached_tokens > 0.5 * usage.prompt_tokens
    per_million = 0.15 * (usage.prompt_tokens - usage.cached_tokens) + 0.075 * usage.cached_tokens
    assert card.cost_usd == pytest.approx((per_million + 0.60 * usage.completion_tokens) / 1e6, rel=1e-6)


def test_a_listed_name_at_an_address_of_the_environment_has_no_known_price_and_gets_the_providers_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider(always("yes")) as provider:
        monkeypatch.setenv("OPENAI_API_BASE", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
        with JudgeClient.embedded(data_dir=tmp_path, judge="openai/gpt-4o-mini") as client:
            assert client.score(LONG).cost_usd is None
        assert {request.headers["authorization"] for request in provider.requests} == {"Bearer sk-from-the-environment"}


def test_the_longest_prompt_goes_first_and_warms_the_others(tmp_path: Path) -> None:
    with Provider(always("yes"), latency=0.05) as provider:
        settings = {"data_dir": tmp_path, "judge": "openai/fake", "api_base": provider.base_url}
        with JudgeClient.embedded(**settings) as client:
            client.score(LONG)
        first, *rest = provider.exchanges

    assert "Judge step 4," in first.request.user
    assert first.usage.cached_tokens == 0
    assert all(each.usage.cached_tokens > 0.9 * each.usage.prompt_tokens - 256 for each in rest)
    assert all(each.received >= (first.answered or 0) for each in rest)


@pytest.mark.parametrize(
    ("model", "environ", "expected", "listed"),
    [
        ("openai/gpt-5.2", {}, (), True),
        ("openai/gpt-5.2", {"ANTHROPIC_BASE_URL": "http://proxy"}, (), True),
        ("openai/gpt-5.2", {"OPENAI_BASE_URL": "https://api.openai.com/v1/"}, ("https://api.openai.com/v1",), True),
        ("openai/gpt-5.2", {"OPENAI_BASE_URL": "http://u:pw@proxy:1/v1?key=k#f"}, ("http://proxy:1/v1",), False),
        ("openai/gpt-5.2", {"OPENAI_API_BASE": "http://evilopenai.com"}, ("http://evilopenai.com",), False),
        ("anthropic/claude", {"ANTHROPIC_BASE_URL": "http://a"}, ("http://a",), False),
        ("azure/mine", {"AZURE_API_BASE": "https://me.openai.azure.com"}, ("https://me.openai.azure.com",), True),
        ("fireworks_ai/x", {"FIREWORKS_API_BASE": "http://f"}, ("http://f",), False),
        ("vertex_ai/x", {"VERTEXAI_API_BASE": "http://v"}, ("http://v",), False),
        ("groq/x", {"USE_LITELLM_PROXY": "True", "LITELLM_PROXY_API_BASE": "http://p"}, ("http://p",), False),
    ],
)
def test_an_endpoint_is_read_from_the_environment_as_litellm_would(
    model: str, environ: dict[str, str], expected: tuple[str, ...], listed: bool
) -> None:
    assert addresses(model, None, environ) == expected
    assert listed_price_holds(model, expected) is listed


def test_every_address_that_litellm_reads_for_chat_is_looked_at() -> None:
    found = importlib.util.find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    files = [package / "main.py", package / "litellm_core_utils" / "get_llm_provider_logic.py"]
    files += [file for folder in package.glob("llms/*/chat") for file in folder.rglob("*.py")]
    text = "\n".join(file.read_text() for file in files)
    read = set(re.findall(r"[\"\']([A-Z][A-Z0-9_]*_(?:API_BASE|BASE_URL|API_URL))[\"\']", text))
    assert len(read) > 60

    import litellm

    known = {name for whose in litellm.provider_list for name in variables(str(getattr(whose, "value", whose)))}
    withdrawn = {"ALEPH_ALPHA_API_BASE", "ANYSCALE_API_BASE"}  # read for providers that are off litellm's own list
    assert read - known <= withdrawn


def test_callers_may_name_only_providers_that_litellm_knows() -> None:
    import litellm

    assert {str(getattr(each, "value", each)) for each in litellm.provider_list} >= NAMED_BY_CALLERS


@pytest.mark.parametrize(
    "name",
    [
        "oobabooga/http://127.0.0.1:1/x",
        "openai/http://127.0.0.1:1/x",
        "huggingface/https://host/x",
        "oobabooga/x",
        "custom/x",
        "github_copilot/gpt-4o",
        "nosuch/x",
        "openai/../x",
        "openai/a b",
        "openai/a\nb",
        "openai/a\x00",
        "openai/" + "a" * 200,
        "openai/",
        "openai",
        "/x",
    ],
)
def test_a_caller_cannot_name_what_is_no_model(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownJudge) as refused:
        Panel(Settings(data_dir=tmp_path, any_model=True)).find(name)
    assert str(refused.value).isprintable()


def test_models_are_named_by_callers_only_where_that_is_allowed(tmp_path: Path) -> None:
    name = "openrouter/anthropic/claude-sonnet-5:free@v1"
    assert Panel(Settings(data_dir=tmp_path, any_model=True)).find(name).name == name
    with pytest.raises(UnknownJudge):
        Panel(Settings(data_dir=tmp_path)).find(name)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"seed": 2**63}, "seed"),
        ({"seed": -(2**63) - 1}, "seed"),
        ({"judge": "openai/a\x1bb"}, "judge"),
        ({"judge": "gpt-4o"}, "named with its provider"),
        ({"judges": {"a\nb": {"model": "openai/x"}}}, "judges"),
        ({"judges": {"rules": {"model": "openai/x"}}}, "taken"),
        ({"judges": {"a": {"model": "huggingface/https://host/x"}}}, "api_base"),
        ({"api_base": "http://user:hunter22@host/v1"}, "api_key"),
        ({"api_base": "http://host/v1?key=hunter22"}, "api_key"),
        ({"api_base": "host/hunter22"}, "http://"),
        ({"judges": {"a": {"model": "openai/x", "api_base": "http://hunter22@host"}}}, "api_key"),
    ],
)
def test_settings_that_cannot_work_or_would_tell_a_secret_are_refused(
    settings: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings(data_dir=tmp_path, **settings)
    assert says in str(refused.value)
    assert "hunter22" not in str(refused.value)


def test_a_variable_that_nothing_reads_is_told_with_the_name_that_was_meant() -> None:
    environ = {
        "STEPJUDGE_JUGDE": "x",
        "STEPJUDGE_XYZZY": "x",
        "STEPJUDGE_JUDGE": "rules",
        "stepjudge_seed": "1",
        "STEPJUDGE_JUDGES__FAST": "{}",
        "STEPJUDGE_CLIENT_KEY": "k",
        "HOME": "/",
    }
    assert unknown_variables(environ) == [
        "STEPJUDGE_JUGDE is no setting of stepjudge: is STEPJUDGE_JUDGE meant?",
        "STEPJUDGE_XYZZY is no setting of stepjudge",
    ]


@given(secret=st.text(st.characters(codec="utf-8", exclude_characters="\ud800"), min_size=6, max_size=40))
def test_a_secret_is_cut_in_every_form_in_which_it_may_come_back(secret: str) -> None:
    known = secrets(None, {"SOME_API_KEY": secret})
    if len(secret.strip()) < 6:
        return
    secret = secret.strip()
    encoded = base64.b64encode(f":{secret}".encode()).decode()
    for form in (secret, quote(secret, safe=""), repr(secret)[1:-1], encoded):
        assert without_secrets(f"<{form}>", known) == "<…>"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic dXNlcjpodW50ZXIyMg==",
        "Bearer hunter22-hunter22",
        "http://user:hunter22@host/v1",
        "https://host/v1?api_key=hunter22&x=1",
        '{"api_key": "hunter22hunter22"}',
        "Incorrect API key provided: sk-hunter22hunter22",
    ],
)
def test_what_looks_like_a_secret_is_cut_although_it_is_not_known(text: str) -> None:
    assert not re.search("hunter22|dXNlcj", without_secrets(text, ()))


def test_a_reason_holds_no_traceback_and_no_path() -> None:
    error = ValueError(
        "no module 'x' in /opt/app/lib/site-packages/litellm/main.py, see https://host/v1/x\n"
        'Traceback (most recent call last):\n  File "/opt/app/y.py", line 1'
    )
    assert words(error, ()) == "no module 'x' in …, see https://host/v1/x"


def _asked(model: str, policy: Policy | None = None, **settings: Any) -> tuple[Any, int]:
    """What came of one request, and how many arrived."""

    async def ask() -> Any:
        chosen = {"model": model, "attempts": 1, "timeout_s": 0.6, "api_base": provider.base_url, **settings}
        wire = Wire()
        asking = ProviderModel(ModelSettings.model_validate(chosen), wire, Limiters())
        try:
            return await asking.complete(PROMPT, [], {"type": "object"}, 100)
        except ModelUnavailable as unavailable:
            return unavailable
        finally:
            await wire.aclose()

    with Provider(lambda _request: {"a": 1}, faults=policy) as provider:
        return anyio.run(ask), provider.count


BOTH_LINES = pytest.mark.parametrize("via", ["direct", "litellm"])


@BOTH_LINES
@pytest.mark.parametrize(
    ("fault", "perhaps_billed"),
    [
        (HANG, 1),
        (CUT_BEFORE, 1),
        (CUT_INSIDE, 1),
        (Fault("gateway_timeout", 504, b"gateway timeout"), 1),
        (SERVER_ERROR, 0),
        (BAD_GATEWAY, 0),
        (UNAUTHORIZED, 0),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else str(value),
)
def test_tries_whose_reply_never_came_may_have_been_billed(fault: Fault, perhaps_billed: int, via: str) -> None:
    unavailable, _ = _asked("openai/fake", first(9, fault), via=via)
    assert isinstance(unavailable, ModelUnavailable)
    assert unavailable.perhaps_billed == perhaps_billed


@BOTH_LINES
def test_a_reply_tells_of_the_tries_before_it_that_may_have_been_billed(via: str) -> None:
    completion, count = _asked("openai/fake", first(1, CUT_INSIDE), attempts=2, via=via)
    assert (completion.perhaps_billed, completion.attempts, count) == (1, 2, 2)
    completion, _ = _asked("openai/fake", first(1, SERVER_ERROR), attempts=2, via=via)
    assert completion.perhaps_billed == 0


@BOTH_LINES
def test_a_server_that_is_not_there_bills_nothing_and_is_tried_again(via: str) -> None:
    unavailable, _ = _asked("openai/fake", api_base="http://127.0.0.1:9/v1", attempts=2, via=via)
    assert (unavailable.cause, unavailable.attempts, unavailable.perhaps_billed) == ("provider", 2, 0)


@pytest.mark.parametrize(
    "model", ["hosted_vllm/x", "custom/x", "openai/gpt-4o", "snowflake/x", "gemini/x", "nosuch/x", "databricks/x"]
)
def test_a_missing_setting_is_rejected_at_once_in_one_clean_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    unavailable, count = _asked(model, api_base=None, attempts=3)
    assert isinstance(unavailable, ModelUnavailable)
    assert (unavailable.cause, unavailable.attempts <= 1, unavailable.perhaps_billed, count) == ("rejected", True, 0, 0)
    assert not re.search(r"Traceback|site-packages|\n", str(unavailable))

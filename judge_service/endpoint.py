"""An endpoint is where a model's requests go: the address that was given, or what litellm reads from the environment.

Which variable litellm prefers is its own affair and changes: every address that is set for the provider counts, so that
a verdict of one endpoint is never served as that of another.
"""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from judge_service.model_name import provider

_ENDINGS = ("API_BASE", "BASE_URL", "API_URL", "URL", "HOST", "ENDPOINT", "API_ENDPOINT", "ENDPOINT_URL")

_ALSO = {
    "anthropic_text": ("ANTHROPIC",),
    "azure": ("AZURE_OPENAI", "OPENAI"),
    "azure_ai": ("AZURE",),
    "azure_text": ("AZURE", "AZURE_OPENAI"),
    "bedrock": ("AWS", "AWS_BEDROCK_RUNTIME", "ANTHROPIC_AWS", "BEDROCK_MANTLE"),
    "chatgpt": ("OPENAI_CHATGPT",),
    "cohere_chat": ("COHERE",),
    "deepseek": ("DEEPSEEK_ANTHROPIC",),
    "fal_ai": ("FAL_AI_QUEUE",),
    "gradient_ai": ("GRADIENT_AI_AGENT",),
    "huggingface": ("HF", "HF_INFERENCE"),
    "meta_llama": ("LLAMA",),
    "mistral": ("MISTRAL_AZURE",),
    "ollama_chat": ("OLLAMA",),
    "sagemaker": ("AWS",),
    "sagemaker_chat": ("AWS",),
    "sap": ("AI",),
    "scx-ai": ("SCX",),
    "tencent": ("TENCENT_ANTHROPIC",),
    "tensormesh": ("TENSORMESH_SERVERLESS",),
    "text-completion-codestral": ("CODESTRAL",),
    "text-completion-inception": ("INCEPTION",),
    "text-completion-openai": ("OPENAI",),
    "vertex_ai": ("VERTEXAI", "VERTEX"),
    "vertex_ai_beta": ("VERTEXAI", "VERTEX"),
    "volcengine": ("ARK",),
    "watsonx": ("WX", "WML"),
    "watsonx_text": ("WATSONX", "WX", "WML"),
    "xai": ("XAI_OAUTH",),
}
"""Beginnings of variables that do not follow from the provider's name."""

_WITHOUT_A_HOME = {"custom", "custom_openai", "hosted_vllm", "oobabooga", "openai_like", "triton", "vllm"}
"""Providers that are nobody's service. Without an address, litellm sends some of their requests to OpenAI."""

_OWN_DOMAINS = {
    "openai": ("openai.com",),
    "anthropic": ("anthropic.com",),
    "azure": ("azure.com", "azure.us", "azure.cn"),
    "azure_ai": ("azure.com", "azure.us", "azure.cn"),
    "bedrock": ("amazonaws.com",),
    "databricks": ("databricks.com", "azuredatabricks.net"),
    "gemini": ("googleapis.com",),
    "vertex_ai": ("googleapis.com",),
    "watsonx": ("ibm.com",),
}
"""Domains where a listed price holds, also at an address of the customer's own."""


def variables(whose: str) -> tuple[str, ...]:
    """Environment variables that set the address of a provider."""
    name = whose.upper().replace("-", "_")
    beginnings = dict.fromkeys((name, name.replace("_", ""), name.removesuffix("AI").rstrip("_")))
    return tuple(f"{start}_{end}" for start in (*beginnings, *_ALSO.get(whose, ())) if start for end in _ENDINGS)


def addresses(model: str, api_base: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where requests may go, without credentials. None means the provider's own address."""
    if api_base:
        return (_bare(api_base),)
    names = variables(provider(model))
    if environ.get("USE_LITELLM_PROXY", "").strip().lower() == "true":
        names += variables("litellm_proxy")
    return tuple(dict.fromkeys(_bare(environ[name]) for name in names if environ.get(name, "").strip()))


def listed_price_holds(model: str, at: tuple[str, ...]) -> bool:
    """A name on somebody's own server says nothing about money."""
    domains = _OWN_DOMAINS.get(provider(model), ())
    hosts = [urlsplit(address).hostname or "" for address in at]
    return all(any(host == domain or host.endswith(f".{domain}") for domain in domains) for host in hosts)


def has_no_address(model: str, at: tuple[str, ...]) -> bool:
    return not at and provider(model) in _WITHOUT_A_HOME


def _bare(address: str) -> str:
    """Scheme, host, port and path: whatever else an address may hold is how one gets in."""
    address = address.strip()
    parts = urlsplit(address if "://" in address else f"https://{address}")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _without_credentials(address: str) -> str:
    parts = urlsplit(address)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("an address holds no user, password or query: a key belongs in api_key")
    if parts.scheme not in ("http", "https") or not parts.hostname or not address.isprintable() or " " in address:
        raise ValueError("an address begins with http:// or https:// and a host, as in http://127.0.0.1:8080/v1")
    return address


ApiBase = Annotated[str, AfterValidator(_without_credentials)]
"""An address without credentials: it stands in the ledger and on the list of judges."""

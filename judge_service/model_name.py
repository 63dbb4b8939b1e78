"""A model's name says whose it is and which, `provider/model` as litellm spells it. It never holds an address."""

import re
from typing import Annotated

from pydantic import AfterValidator

_SHAPE = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9._:@/-]+")
_LONGEST = 200

# fmt: off
NAMED_BY_CALLERS = frozenset((
    "ai21", "ai21_chat", "aiml", "amazon_nova", "anthropic", "azure", "azure_ai", "baseten", "bedrock", "cerebras",
    "cloudflare", "codestral", "cohere", "cohere_chat", "cometapi", "custom_openai", "dashscope", "databricks",
    "deepinfra", "deepseek", "featherless_ai", "fireworks_ai", "friendliai", "galadriel", "gemini", "github",
    "gradient_ai", "groq", "helicone", "heroku", "hosted_vllm", "huggingface", "hyperbolic", "inception",
    "lambda_ai", "litellm_proxy", "lm_studio", "meta_llama", "minimax", "mistral", "modelscope", "moonshot",
    "morph", "nano-gpt", "nebius", "novita", "nscale", "nvidia_nim", "ollama", "ollama_chat", "openai",
    "openai_like", "openrouter", "ovhcloud", "perplexity", "poe", "publicai", "replicate", "sambanova", "scaleway",
    "snowflake", "synthetic", "tencent", "together_ai", "v0", "vercel_ai_gateway", "vertex_ai", "volcengine",
    "wandb", "watsonx", "xai", "zai",
))
# fmt: on
"""Providers that a caller of the service may name.

Of litellm's list, without those that take an address from the name (oobabooga, petals, custom), those that ask
somebody at the terminal to log in (github_copilot, chatgpt), and those that run agents or tools rather than a model.
"""


def why_not_a_model(name: str) -> str | None:
    """What keeps a text from being a model's name; null when nothing does."""
    if len(name) > _LONGEST:
        return f"a model's name has at most {_LONGEST} characters"
    if "//" in name or ".." in name:
        return "a model's name holds no address and no path: an address belongs in api_base"
    if not _SHAPE.fullmatch(name):
        return "a model is named with its provider, as in openai/gpt-5.2, in letters, digits and . _ : @ / -"
    return None


def provider(model: str) -> str:
    """Whose the model is."""
    return model.partition("/")[0].lower()


def _checked(name: str) -> str:
    if reason := why_not_a_model(name):
        raise ValueError(reason)
    return name


ModelName = Annotated[str, AfterValidator(_checked)]

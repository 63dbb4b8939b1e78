"""A model's family is whose model it is, told from its name: models of one maker favour each other's words."""

import re

_MAKERS = {
    "openai": r"gpt|chatgpt|davinci|o[134](?:-|$)",
    "anthropic": r"claude|opus|sonnet|haiku",
    "google": r"gemini|gemma|palm",
    "meta": r"llama",
    "qwen": r"qwen|qwq",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|ministral|codestral|devstral|magistral",
    "xai": r"grok",
    "moonshot": r"kimi|moonshot",
    "zai": r"glm|chatglm",
    "cohere": r"command",
    "amazon": r"nova|titan",
    "microsoft": r"phi",
    "minimax": r"minimax|abab",
}
_NAMED = {maker: re.compile(rf"(?:^|[^a-z0-9])(?:{names})", re.IGNORECASE) for maker, names in _MAKERS.items()}


def family(model: str | None) -> str | None:
    """`openai`, `anthropic` …; null when the name tells nobody's."""
    # distilled models carry two names: the first is whose model it is
    found = [(match.start(), maker) for maker, names in _NAMED.items() if (match := names.search(model or ""))]
    return min(found)[1] if found else None

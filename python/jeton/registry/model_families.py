"""Which published vocabulary a model reads its text with, by the model's name.

One entry is a family of models that share a tokenizer exactly. A name that no entry matches is not
guessed at: its tokenizer is not known here.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class SharedTokenizer(NamedTuple):
    """Models with one tokenizer.

    Attributes:
        name: Name of the tokenizer's family.
        pattern: Matches the models' names, whole, in the forms of `plain_names`.
        vocabularies: Names under which the vocabulary is found, the usual one first.
        source: Where the pair is published.
    """

    name: str
    pattern: str
    vocabularies: tuple[str, ...]
    source: str


_TIKTOKEN = "tiktoken 0.14 (tiktoken/model.py)"

# Later entries are only asked where no earlier one matches.
FAMILIES: tuple[SharedTokenizer, ...] = (
    SharedTokenizer(
        "o200k_harmony", r"gpt-oss(-.*)?", ("o200k_harmony",), f"{_TIKTOKEN}; arXiv:2508.10925"
    ),
    SharedTokenizer(
        "o200k_base",
        r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o1|o3|o4)\b.*",
        ("o200k_base",),
        _TIKTOKEN,
    ),
    SharedTokenizer(
        "o200k_base", r"phi-4-(mini|multimodal).*", ("o200k_base",), "arXiv:2503.01743"
    ),
    SharedTokenizer(
        "cl100k_base",
        r"(gpt-4|gpt-3\.5|gpt-35|text-embedding-3|text-embedding-ada-002)\b.*"
        r"|(davinci|babbage)-002",
        ("cl100k_base",),
        _TIKTOKEN,
    ),
    SharedTokenizer("cl100k_base", r"phi-?4", ("cl100k_base",), "microsoft/phi-4, tokenizer.json"),
    SharedTokenizer("p50k_edit", r"(text|code)-davinci-edit-001", ("p50k_edit",), _TIKTOKEN),
    SharedTokenizer(
        "p50k_base",
        r"text-davinci-00[23]|code-(davinci|cushman)-00[12]|(davinci|cushman)-codex",
        ("p50k_base",),
        _TIKTOKEN,
    ),
    SharedTokenizer(
        "r50k_base",
        r"text-davinci-001|text-(curie|babbage|ada)-001|davinci|curie|babbage|ada",
        ("r50k_base",),
        _TIKTOKEN,
    ),
    SharedTokenizer(
        "gpt2",
        r"(distil)?gpt-?2(-(small|medium|large|xl))?|gpt-j(-6b)?|opt-[0-9.]+m?b?",
        ("gpt2", "r50k_base"),
        "openai-community/gpt2, tokenizer.json",
    ),
    SharedTokenizer(
        "llama3",
        r"deepseek-r1-distill-llama-.*|smollm-?3.*|(meta-?)?llama-?v?3([.p-]?[0-9])?(-.*)?"
        r"|llama-guard-3.*|hermes-3-llama-3.*",
        ("llama3",),
        "meta-llama/llama3, tokenizer.model; arXiv:2407.21783",
    ),
    SharedTokenizer(
        "llama4",
        r"(meta-?)?llama-?v?4(-.*)?|llama-guard-4.*",
        ("llama4",),
        "meta-llama/Llama-4-Scout-17B-16E, tokenizer.model",
    ),
    SharedTokenizer(
        "llama2",
        r"(meta-?)?llama-?v?2(-.*)?|(meta-?)?llama-1.*|codellama-34b.*|code-?llama-34b.*"
        r"|tinyllama.*|vicuna-.*",
        ("llama2",),
        "meta-llama/Llama-2-7b, tokenizer.model; arXiv:2307.09288",
    ),
    SharedTokenizer(
        "mistral_v3",
        r"(open-)?mistral-7b(-instruct)?-v0[.-]3.*|mistral-large-(2407|2)(-.*)?"
        r"|mistral-large-instruct-2407|mixtral-8x22b-instruct.*|open-mixtral-8x22b.*"
        r"|codestral-(22b.*|2405)",
        ("mistral_v3", "mistral03"),
        "mistral-common, v3",
    ),
    SharedTokenizer(
        "tekken",
        r"(open-)?mistral-nemo.*|mistral-small-(24b.*|3(\.[0-9])?|2501|2503|2506)(-.*)?"
        r"|ministral-8b.*|pixtral-12b.*|magistral-small.*|devstral-small.*",
        ("tekken", "tekken_240718"),
        "mistral-common, tekken",
    ),
    SharedTokenizer(
        "mistral_v1",
        r"mistral-7b|(open-)?mistral-7b(-instruct)?(-v0[.-][12])?(-.*)?"
        r"|(open-)?mixtral-8x7b.*|mixtral|mixtral-8x22b(-v0[.-]1)?|zephyr-7b.*",
        ("mistral_v1", "mistral01"),
        "mistral-common, v1",
    ),
    SharedTokenizer(
        "qwen2",
        r"deepseek-r1-distill-qwen-.*|qwq(-.*)?|qvq(-.*)?"
        r"|(code)?qwen-?(1\.5|2\.5|2p5|2-5|2|3)(?![.0-9])(-.*)?|qwen-?3-.*",
        ("qwen2", "qwen"),
        "Qwen/Qwen2.5-7B, tokenizer.json; arXiv:2412.15115, 2505.09388",
    ),
    SharedTokenizer("qwen", r"qwen-(1-8b|7b|14b|72b)(-.*)?", ("qwen",), "arXiv:2309.16609"),
    SharedTokenizer("gemma3", r"gemma-?3(n)?(-.*)?", ("gemma3",), "arXiv:2503.19786"),
    SharedTokenizer("gemma2", r"gemma(-?2|-?1\.1)?(-.*)?", ("gemma2", "gemma"), "arXiv:2408.00118"),
    SharedTokenizer(
        "deepseek-coder",
        r"deepseek-coder-(1\.3b|5\.7b|6\.7b|7b|33b).*",
        ("deepseek-coder",),
        "arXiv:2401.14196",
    ),
    SharedTokenizer(
        "deepseek-llm",
        r"deepseek-llm.*|deepseek-(coder-)?v2(\.5)?(-.*)?|deepseek-(7b|67b).*",
        ("deepseek-llm",),
        "arXiv:2401.02954; DeepSeek-V2 keeps it, arXiv:2405.04434",
    ),
    SharedTokenizer(
        "deepseek_v3",
        r"deepseek-(v3([.p-][12])?|r1(-0528-qwen3)?)(-.*)?|deepseek-(chat|reasoner)",
        ("deepseek_v3", "deepseek-v3"),
        "arXiv:2412.19437; api-docs.deepseek.com",
    ),
    SharedTokenizer(
        "kimi_k2", r"kimi-k2(-.*)?|moonlight-.*", ("kimi_k2",), "moonshotai/Kimi-K2-Instruct"
    ),
    SharedTokenizer("phi-2", r"phi-2|phi-1(\.5)?", ("phi-2",), "microsoft/phi-2"),
    SharedTokenizer(
        "phi-3-mini",
        r"phi-?3(\.5)?-(mini|medium)(-.*)?",
        ("phi-3-mini", "llama2"),
        "microsoft/Phi-3-mini-4k-instruct",
    ),
    SharedTokenizer(
        "gpt_neox_20b",
        r"gpt-neox-20b|pythia-.*|dolly-v2-.*|mpt-.*|olmo-(1b|7b).*",
        ("gpt_neox_20b",),
        "EleutherAI/gpt-neox-20b, tokenizer.json",
    ),
    SharedTokenizer("olmo2", r"olmo-?2-.*", ("olmo2",), "allenai/OLMo-2-1124-7B, tokenizer.json"),
    SharedTokenizer(
        "smollm2", r"smollm-?2-.*", ("smollm2",), "HuggingFaceTB/SmolLM2-135M, tokenizer.json"
    ),
    SharedTokenizer("yi", r"yi-(6b|9b|34b)(-.*)?", ("yi",), "01-ai/Yi-34B, tokenizer.model"),
    SharedTokenizer(
        "jamba", r"jamba(-v0[.-]1)?", ("jamba",), "ai21labs/Jamba-v0.1, tokenizer.json"
    ),
    SharedTokenizer("starcoder", r"starcoder(base)?(-.*)?", ("starcoder",), "arXiv:2305.06161"),
    SharedTokenizer("falcon", r"falcon-(7b|40b|180b)(-.*)?", ("falcon",), "tiiuae/falcon-7b"),
    SharedTokenizer(
        "claude", r"claude-(v?[12]|instant)\b.*", ("claude",), "anthropic-tokenizer-typescript"
    ),
    SharedTokenizer(
        "bert_base_uncased", r"(distil)?bert-(base|large)-uncased", ("bert_base_uncased",), "BERT"
    ),
    SharedTokenizer(
        "bert_base_cased", r"(distil)?bert-(base|large)-cased", ("bert_base_cased",), "BERT"
    ),
    SharedTokenizer("bert_chinese", r"bert-base-chinese", ("bert_chinese",), "BERT"),
    SharedTokenizer(
        "bert_multi_cased", r"bert-base-multilingual-cased", ("bert_multi_cased",), "BERT"
    ),
    SharedTokenizer(
        "roberta-base", r"(distil)?roberta(-(base|large))?", ("roberta-base", "gpt2"), "RoBERTa"
    ),
    SharedTokenizer(
        "t5-small", r"t5(-(small|base|large|3b|11b))?|flan-t5(-.*)?", ("t5-small",), "T5"
    ),
    SharedTokenizer("modernbert", r"modernbert-(base|large)", ("modernbert",), "arXiv:2412.13663"),
)

NOT_PUBLIC = r"claude-(?!(v?[12]|instant)\b).*|gemini-.*|grok-.*|nova-.*|command-?(a|r).*|palm-.*"
"""Models whose providers keep the tokenizer to themselves."""

_KNOWN_WORDS = frozenset((
    "base", "chat", "code", "coder", "instruct", "guard", "vision", "audio", "text", "image",
    "multimodal", "omni", "math", "embedding", "nano", "mini", "tiny", "small", "medium", "large",
    "max", "lite", "flash", "turbo", "fast", "pro", "plus", "ultra", "super", "preview", "latest",
    "beta", "exp", "next", "alpha", "thinking", "reasoning", "reasoner", "distill", "instant",
    "versatile", "specdec", "tool", "use", "maverick", "scout", "basic", "zero", "terminus",
    "speciale", "hermes", "nemotron", "zephyr", "vicuna", "safeguard", "distilbert",
    "distilroberta", "distilgpt", "awq", "gptq", "gguf", "ggml", "exl", "bnb", "mlx", "bit",
    "int", "mxfp", "nvfp", "quantized", "unquantized", "dynamic", "batch", "free", "online",
    "extended", "nitro", "floor", "exacto", "maas", "global", "high", "low", "minimal",
    "realtime", "search", "transcribe", "tts", "deep", "research", "codex", "gpt", "bedrock",
    "azure", "openai", "meta", "api", "live", "cyber", "luna", "sol", "terra", "diarize",
))  # fmt: skip
"""Words that a name may have beside those of its family: sizes, uses, number formats, routes."""

_OPENAI = ("gpt-3", "gpt-4", "gpt-5", "chatgpt", "o1", "o3", "o4")

_RUN_OF_LETTERS = re.compile(r"[a-z]{3,}")

_VENDOR = re.compile(
    r"(?:(?:us|eu|apac|ap|jp|au|ca|global|us-gov)\.)?"
    r"(?:meta|mistral|anthropic|amazon|cohere|ai21|qwen|deepseek|openai|google|moonshot)\."
)
_BEDROCK_VERSION = re.compile(r"(?:-v\d+)?:\d+(?::\S+)?$")
_SEPARATORS = re.compile(r"[\s_]+")
_JOINED = re.compile(r"(?<=^gpt)(?=\d)")


def plain_names(name: str) -> tuple[str, ...]:
    """The forms of a model's name that families are looked for by, whole before its last part.

    Lower case; without folders, a provider before ``:``, Bedrock's vendor and version, and with
    ``-`` for spaces, underscores and the ``:`` of a tag, and where people leave it out (``gpt4o``).
    """
    forms = list(_typed(name))
    forms += [_SEPARATORS.sub("-", form) for form in forms]
    forms += [_JOINED.sub("-", form) for form in forms]
    return tuple(dict.fromkeys(forms))


def _typed(name: str) -> tuple[str, ...]:
    """The forms whose letters and separators are those of the name as it was given."""
    whole = name.strip().casefold()
    last = whole.rstrip("/").rpartition("/")[2]
    bare = _BEDROCK_VERSION.sub("", _VENDOR.sub("", last, count=1))
    forms = [whole, last, bare, last.replace(":", "-"), last.rpartition(":")[2]]
    forms.append(last.partition(":")[2])
    # A model tuned at OpenAI: ft:MODEL:ORGANIZATION:NAME:ID.
    forms += [last.split(":")[1]] if last.startswith("ft:") else []
    return tuple(dict.fromkeys(form for form in forms if form))


def family_of(model: str) -> SharedTokenizer | None:
    """The family of a model; None where its tokenizer is not known here.

    Each word of three letters or more has to be a known one (`are_words_known`).

    Example:
        >>> family_of("llama3-8b-instruct").name
        'llama3'
        >>> family_of("llama3-banana") is None
        True
    """
    for form in plain_names(model):
        for family in FAMILIES:
            if re.fullmatch(family.pattern, form) and are_words_known(form, family.pattern):
                return family
    return None


def known_model(name: str) -> str | None:
    """The longest beginning of a name, up to a separator, that is a known model; None: none is.

    Example:
        >>> known_model("gpt-5-banana")
        'gpt-5'
    """
    ends = [match.start() for match in re.finditer(r"[-_:. ]", name)]
    return next((name[:end] for end in reversed(ends) if family_of(name[:end])), None)


def are_words_known(form: str, pattern: str) -> bool:
    """True if each word of a model's name is one of its family's, or says a size, use or route.

    Args:
        form: A name in a form of `plain_names`.
        pattern: Pattern of the family's names.
    """
    # Only Llama's and other open models have a "base"; of OpenAI's it is an encoding's name.
    known = _KNOWN_WORDS - {"base"} if form.startswith(_OPENAI) else _KNOWN_WORDS
    own = set(_RUN_OF_LETTERS.findall(pattern))
    return all(word in own or word in known for word in _RUN_OF_LETTERS.findall(form))


def is_not_public(model: str) -> bool:
    """True if the model's provider keeps its tokenizer to itself."""
    return any(re.fullmatch(NOT_PUBLIC, form) for form in plain_names(model))

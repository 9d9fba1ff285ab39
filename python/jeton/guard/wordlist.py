"""Words by which the guard knows markers of chat formats, instructions and disguised spellings."""

from __future__ import annotations

import re
from typing import Final

MARKERS: Final = (
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
)
"""Markers of public chat formats and vocabularies (tiktoken's cl100k_base and o200k_base, ChatML,
Llama 2 and 3, Phi-3, Gemma, Mistral), looked for under any tokenizer: the same documents may reach
another model. ``<s>`` and ``</s>`` are left out, for HTML uses them; they are looked for where a
tokenizer has them."""

NEWER_MARKERS: Final = (
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|return|>",
    "<|call|>",
    "<|header_start|>",
    "<|header_end|>",
    "<|eot|>",
    "<|begin▁of▁sentence|>",
    "<|end▁of▁sentence|>",
    "<|User|>",
    "<|Assistant|>",
    "<|tool▁calls▁begin|>",
    "<|tool▁calls▁end|>",
    "<|tool▁call▁begin|>",
    "<|tool▁call▁end|>",
    "<|tool▁outputs▁begin|>",
    "<|tool▁outputs▁end|>",
    "<|tool▁sep|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<|USER_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[/AVAILABLE_TOOLS]",
    "<BOS_TOKEN>",
    "<extra_id_0>",
    "<|vision_start|>",
    "<|image_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
"""Further markers that only the guard looks for (gpt-oss, Phi-3, Llama 4, DeepSeek, Command R,
Mistral 3, T5, Qwen)."""

_INSTRUCTION: Final = (
    r"ignore\s+(?:all|any|the|your|every|previous|prior|above|earlier|these|those|my)",
    r"(?:disregard|forget|override|bypass)\s+(?:all|any|the|your|every|previous|prior|above|earlier|"
    r"everything|safety)",
    r"(?:previous|prior|above|earlier|system|developer)\s+(?:instructions?|prompts?|messages?|rules)",
    r"new\s+instructions?",
    r"you\s+(?:are\s+now|must\s+now|will\s+now)",
    r"(?:do\s+not|don't|never)\s+(?:tell|mention|reveal|inform|warn)",
    r"(?:reveal|print|repeat|leak|exfiltrate|send|post|forward)\s+(?:all|the|your|this|every|any)\s+"
    r"(?:\w+\s+)?(?:prompt|instructions?|passwords?|secrets?|keys?|credentials?|data|conversation|files?)",
    r"(?:act|respond|behave)\s+as\s+(?:if|an?|the)",
    r"jail\s?break|developer\s+mode|\bDAN\b",
    r"(?:curl|wget)\s+\S+://|\|\s*(?:ba|z)?sh\b|rm\s+-rf|powershell|eval\s*\(|<script|javascript:",
    r"api[_\s-]?keys?|system\s+prompt",
)
INSTRUCTION: Final = re.compile("|".join(_INSTRUCTION), re.IGNORECASE)
"""Wordings of injected instructions and commands: of the attacks that garak, promptfoo and PyRIT
publish, in our own words. It reads decoded text only: plain text is the work of a classifier."""

WEB_ADDRESS: Final = re.compile(r"https?://|www\.\w", re.IGNORECASE)

_SECRET_WORDS: Final = (
    "ignore",
    "instruction",
    "previous",
    "system",
    "prompt",
    "disregard",
    "password",
    "jailbreak",
)

_ROT13: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm",
)
_ATBASH: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba",
)
_LEET_LETTERS: Final = {
    "0": "o",
    "1": "i",
    "3": "e",
    "4": "a",
    "5": "s",
    "7": "t",
    "@": "a",
    "$": "s",
}
_LEET_TABLE: Final = str.maketrans(_LEET_LETTERS)


def rot13(text: str) -> str:
    """Return the letters moved by thirteen places."""
    return text.translate(_ROT13)


def atbash(text: str) -> str:
    """Return the letters in the alphabet's opposite order."""
    return text.translate(_ATBASH)


def from_leet(text: str) -> str:
    """Return digits that stand for letters as those letters."""
    return text.translate(_LEET_TABLE)


_LEET_WORDS: Final = (
    "1gn0r3", "ign0re", "1gnore", "ign0r3", "1n57ruc710n", "1nstruct10n", "pr3v10us", "pr3v10u5",
    "syst3m", "5y573m", "pr0mpt", "pr0mp7", "p455w0rd", "p4ssw0rd",
)  # fmt: skip

SPELLINGS: Final = {
    **{rot13(word): "rot13" for word in _SECRET_WORDS},
    **{atbash(word): "atbash" for word in _SECRET_WORDS},
    **{word[::-1]: "reversed" for word in _SECRET_WORDS},
    **dict.fromkeys(_LEET_WORDS, "leet"),
}
"""Words of injected instructions in the spellings that pass filters, with the spelling's name."""

PHRASES: Final = (*SPELLINGS, "begin 644 ", "begin 666 ", "xn--")
"""Texts that the scanner finds, those of six characters and more in any case."""

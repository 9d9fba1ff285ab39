"""Words by which the guard knows markers of chat formats, instructions and disguised spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
    *("<|turn>", "<turn|>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>"),
    *("<|tool_response>", "<tool_response|>", "<|channel>", "<channel|>", "<bos>", "<eos>"),
    *("<start_of_image>", "<end_of_image>", "<image_soft_token>"),
    *("<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
    *("<|tool_call_end|>", "<|tool_call_argument_begin|>", "[EOT]"),
    *("[gMASK]", "<sop>", "<eop>", "<|observation|>", "<arg_key>"),
    *("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]", "[|tool|]"),
    *("]~b]", "]~!b[", "[e~[", "<minimax:tool_call>", "</minimax:tool_call>"),
    *("<|start_of_role|>", "<|end_of_role|>", "<|tool_list|>", "<|plugin|>", "<|interpreter|>"),
    *("<|action_start|>", "<|action_end|>", "<seed:bos>", "<seed:eos>", "<|startoftext|>"),
    *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_THINKING|>", "<|END_THINKING|>"),
    *("<|START_ACTION|>", "<|END_ACTION|>", "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    *("<|hy_User|>", "<|hy_Assistant|>", "[THINK]", "[/THINK]"),
    *("<|reserved_special_token_0|>", "<|object_ref_start|>", "<|audio|>", "<|image|>"),
)
"""Further markers that only the guard looks for (gpt-oss, Phi-3, Llama 4, DeepSeek, Command R,
Mistral 3, T5, Qwen; Gemma 3 and 4, Kimi, GLM, EXAONE, MiniMax, Granite, InternLM, Seed, Hunyuan).
"""

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
    return text.replace("11", "ll").translate(_LEET_TABLE)


_NUMBER: Final = re.compile(
    r"(?:(?:0x|\\x)?[0-9a-f]{2}[\s,:;+|-]+){5,}(?:0x|\\x)?[0-9a-f]{2}\b", re.IGNORECASE
)
_DECIMAL: Final = re.compile(r"(?:[1-9]\d{1,2}[\s,;+|-]+){5,}[1-9]\d{1,2}\b")
_OCTAL: Final = re.compile(r"(?:\\[0-7]{3}){6,}")
_APART: Final = re.compile(r"\b(\w)[ ._-](?=\w\b)")
_MARKS: Final = re.compile("[\u0300-\u036f]+")


def from_numbers(text: str) -> str:
    """Return numbers of bytes with signs between them as the text that they are."""

    def of_base(base: int, digits: str) -> Callable[[re.Match[str]], str]:
        def read(match: re.Match[str]) -> str:
            plain = re.sub(r"0x|\\x", "", match[0], flags=re.IGNORECASE)
            values = [int(one, base) for one in re.findall(digits, plain)]
            if max(values) > 255:
                return match[0]
            return bytes(values).decode("utf-8", "replace")

        return read

    text = _OCTAL.sub(of_base(8, "[0-7]{3}"), text)
    text = _NUMBER.sub(of_base(16, "[0-9a-fA-F]{2}"), text)
    return _DECIMAL.sub(of_base(10, r"\d+"), text)


def from_letters_apart(text: str) -> str:
    """Return words whose letters stand apart, with spaces, dots or dashes between them."""
    return re.sub(r"[\s._-]{2,}", " ", _APART.sub(r"\1", text))


def without_marks(text: str) -> str:
    """Return letters without the marks on them."""
    return _MARKS.sub("", text)


_LEET_WORDS: Final = (
    "1gn0r3", "ign0re", "1gnore", "ign0r3", "1n57ruc710n", "1nstruct10n", "pr3v10us", "pr3v10u5",
    "syst3m", "5y573m", "pr0mpt", "pr0mp7", "p455w0rd", "p4ssw0rd",
)  # fmt: skip


_IN_BYTES: Final = ("ignore", "Ignore", "system", "prompt")
_APART_WORDS: Final = ("ignore", "previous", "system", "prompt")
"""Fewer words: each phrase of digits or spaces makes the search of plain text slower."""


def _in_bytes(word: str) -> Iterator[str]:
    for sign, form in ((" ", "02x"), (":", "02x"), (" ", "#04x"), (", ", "#04x"), (" ", "d")):
        yield sign.join(format(byte, form) for byte in word.encode())
    yield ", ".join(str(byte) for byte in word.encode())
    yield "".join(f"\\{byte:03o}" for byte in word.encode())


MARKS_ON_LETTERS: Final = ("\u0332", "\u0335", "\u0336", "\u0338")
"""Lines under and through letters. Few languages have any; floods of marks have some of them."""

DECODERS: Final[dict[str, Callable[[str], str]]] = {
    "rot13": rot13,
    "atbash": atbash,
    "reversed": lambda text: text[::-1],
    "leet": from_leet,
    "bytes as numbers": from_numbers,
    "letters apart": from_letters_apart,
    "letters under marks": without_marks,
    "dotless i": lambda text: text.replace("\u0131", "i"),
}
"""Readings of a line, by the name of its spelling."""

SPELLINGS: Final = {
    **{rot13(word): "rot13" for word in _SECRET_WORDS},
    **{atbash(word): "atbash" for word in _SECRET_WORDS},
    **{word[::-1]: "reversed" for word in _SECRET_WORDS},
    **dict.fromkeys(_LEET_WORDS, "leet"),
    **{text: "bytes as numbers" for word in _IN_BYTES for text in _in_bytes(word)},
    **{sign.join(word): "letters apart" for word in _APART_WORDS for sign in " .-"},
    **dict.fromkeys(MARKS_ON_LETTERS, "letters under marks"),
    **{w.replace("i", "\u0131"): "dotless i" for w in _SECRET_WORDS if "i" in w},
}
"""Words of injected instructions in the spellings that pass filters, with the spelling's name."""

PHRASES: Final = (*SPELLINGS, "begin 644 ", "begin 666 ", "xn--")
"""Texts that the scanner finds, those of six characters and more in any case."""


def bare_markers(markers: Iterable[str]) -> list[str]:
    """Return markers without their brackets, which may stand there escaped."""
    return sorted({m[1:-1] for m in markers if len(m) > 7 and m[0] == "<" and m[-1] == ">"})

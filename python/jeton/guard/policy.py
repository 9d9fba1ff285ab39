"""Policies: an action for each class of findings, and texts cleaned by one.

A policy is a small TOML file::

    name = "ours"
    base = "default"          # what it does not name is as in this one
    fail_at = "warning"       # severity from which on a text fails

    [actions]
    invisible = "strip"
    special-token = "reject"

Actions: ``allow`` (not even told), ``report``, ``escape`` (each character by its number in
hexadecimal), ``strip`` (taken out; for ``compatible`` the plain letters instead) and ``reject``.
"""

from __future__ import annotations

import json
import os
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jeton._foreign import json_of, toml_of
from jeton._nearest import nearest
from jeton.errors import GuardRejected, UsageError
from jeton.guard.characters import properties
from jeton.guard.scanning import scan_for, special_texts
from jeton.guard.verdict import GROUPS, GuardLevel, TextFinding, Verdict, verdict_of
from jeton.registry import resolve

if TYPE_CHECKING:
    from jeton.registry import TokenizerLike

ACTIONS: Final = ("allow", "report", "escape", "strip", "reject")
"""Actions, the mildest first."""

MAX_POLICY_BYTES: Final = 1 << 20
"""A larger file is no policy."""

_MAX_ROUNDS: Final = 8
"""Rounds of taking out. A removal can join its neighbours to something new. Findings that are left
in the last round are escaped, which joins nothing."""

_STRIPPED: Final = frozenset(
    {
        "special-token",
        "invisible",
        "soft-hyphen",
        "hidden-payload",
        "tag",
        "bidi",
        "control",
        "private-use",
        "marks",
        "compatible",
    }
)
"""Classes that may be taken out. Words of mixed scripts, domains, mojibake and encoded text are
content: taking them out would change what a text says."""


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """Actions by class.

    Attributes:
        name: Name for messages.
        actions: Action for each class of ``GROUPS``.
        least: Severity from which on an action other than ``allow`` and ``report`` is taken.
        fail_at: Severity from which on a text fails (exit code 1).

    Example:
        >>> strict = Policy.named("strict")
        >>> strict.actions["hidden-payload"]
        'reject'
    """

    name: str
    actions: Mapping[str, str]
    least: GuardLevel = GuardLevel.WARNING
    fail_at: GuardLevel = GuardLevel.WARNING

    def __post_init__(self) -> None:
        """Check the actions; a class that is not named is reported.

        Raises:
            UsageError: A class or an action is not known.
        """
        _check_names(f"the policy {self.name}", self.actions, GROUPS, "class")
        for group, action in self.actions.items():
            _check_action(f"the policy {self.name}", group, action)
        actions = dict.fromkeys(GROUPS, "report") | dict(self.actions)
        object.__setattr__(self, "actions", actions)
        for name in ("least", "fail_at"):
            object.__setattr__(self, name, GuardLevel(getattr(self, name)))

    def action_of(self, finding: TextFinding) -> str:
        """Return the action for a finding: below ``least`` at most ``report``."""
        action = self.actions[finding.group]
        if ACTIONS.index(action) > 1 and finding.severity.rank < self.least.rank:
            return "report"
        return action

    @staticmethod
    def named(name: str) -> Policy:
        """Return ``report``, ``default`` or ``strict``.

        Raises:
            UsageError: There is no such policy.
        """
        found = PRESETS.get(name)
        if found is None:
            near = nearest(name, PRESETS)
            hint = f"did you mean {', '.join(near)}?" if near else "or name a TOML file"
            raise UsageError(
                f"the policy {name!r} is not known; expected {', '.join(PRESETS)} or a file\n"
                f"hint: {hint}"
            )
        return found

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file.

        Raises:
            UsageError: The file is no policy; the message names the place and the nearest word.
            OSError: It cannot be read.
        """
        with Path(path).open("rb") as file:
            data = file.read(MAX_POLICY_BYTES + 1)
        if len(data) > MAX_POLICY_BYTES:
            raise UsageError(
                f"{path} has more than {MAX_POLICY_BYTES:,} bytes; a policy is smaller"
            )
        return parse_policy(data, where=str(path))

    def to_json(self) -> str:
        """Return the policy as one line of JSON: the same line for equal policies."""
        return json.dumps(
            {
                "name": self.name,
                "actions": dict(sorted(self.actions.items())),
                "act_at": self.least.value,
                "fail_at": self.fail_at.value,
            },
            allow_nan=False,
        )

    @staticmethod
    def from_json(line: str) -> Policy:
        """Return the policy of ``to_json``.

        Raises:
            UsageError: The line is none.
        """
        try:
            values = json_of(line)
            levels = GuardLevel(values["act_at"]), GuardLevel(values["fail_at"])
            return Policy(values["name"], values["actions"], *levels)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"this is no policy in JSON: {error!r}") from None

    @staticmethod
    def of(policy: Policy | str | os.PathLike[str]) -> Policy:
        """Return a policy given as itself, as a name or as a file."""
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, str) and (policy in PRESETS or not _is_path(policy)):
            return Policy.named(policy)
        return Policy.read(policy)

    def clean(self, text: str, *, tokenizer: TokenizerLike | None = None) -> str:
        """Return a text as the policy leaves it: ``enforce(text, self).text``.

        Raises:
            GuardRejected: The policy rejects it.
        """
        return enforce(text, self, tokenizer=tokenizer).text


Policy = GuardPolicy
"""Short name, as programs write it: ``from jeton.guard import Policy``."""


def _is_path(name: str) -> bool:
    return name.endswith(".toml") or os.sep in name or Path(name).is_file()


def parse_policy(data: bytes, *, where: str = "policy") -> Policy:
    """Read a policy from the bytes of a TOML file.

    Raises:
        UsageError: They are no policy.
    """
    try:
        values = toml_of(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where} is no TOML: {error}\nhint: see docs/guides/guard.md") from None
    _check_names(where, values, ("name", "base", "fail_at", "act_at", "actions"), "field")
    base = values.get("base", "default")
    if not isinstance(base, str):
        raise UsageError(f"{where}: base is {base!r}; expected the name of a policy")
    start = Policy.named(base)
    actions = values.get("actions", {})
    if not isinstance(actions, dict):
        raise UsageError(f"{where}: actions is {actions!r}; expected a table of classes")
    _check_names(where, actions, GROUPS, "class")
    for group, action in actions.items():
        _check_action(where, group, action)
    return replace(
        start,
        name=str(values.get("name", where)),
        actions={**start.actions, **actions},
        fail_at=_level(where, values, "fail_at", start.fail_at),
        least=_level(where, values, "act_at", start.least),
    )


def _check_action(where: str, group: str, action: Any) -> None:
    if action not in ACTIONS:
        raise UsageError(
            f"{where}: the action of {group} is {action!r}; expected {', '.join(ACTIONS)}"
            + _hint(action, ACTIONS)
        )
    if action == "strip" and group not in _STRIPPED:
        raise UsageError(
            f"{where}: {group} cannot be stripped, for it is what the text says\n"
            "hint: use escape or reject"
        )


def _level(where: str, values: Mapping[str, Any], name: str, default: GuardLevel) -> GuardLevel:
    given = values.get(name, default.value)
    if given not in [level.value for level in GuardLevel]:
        names = [level.value for level in GuardLevel]
        raise UsageError(
            f"{where}: {name} is {given!r}; expected {', '.join(names)}" + _hint(given, names)
        )
    return GuardLevel(given)


def _check_names(where: str, found: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for name in found:
        if name not in known:
            raise UsageError(
                f"{where}: the {what} {name!r} is not known; expected {', '.join(known)}"
                + _hint(name, known)
            )


def _hint(given: object, known: Any) -> str:
    near = nearest(given, known) if isinstance(given, str) else []
    return f"\nhint: did you mean {', '.join(near)}?" if near else ""


def _all(action: str, **others: str) -> dict[str, str]:
    return dict.fromkeys(GROUPS, action) | {name.replace("_", "-"): a for name, a in others.items()}


PRESETS: Final[dict[str, Policy]] = {
    "report": Policy("report", _all("report")),
    "default": Policy(
        "default",
        _all(
            "report",
            special_token="escape",
            hidden_payload="strip",
            invisible="strip",
            bidi="strip",
        ),
    ),
    "strict": Policy(
        "strict",
        _all(
            "reject",
            invisible="strip",
            soft_hyphen="strip",
            compatible="report",
            mojibake="report",
            private_use="report",
            marks="strip",
        ),
        fail_at=GuardLevel.WARNING,
    ),
}
"""Policies by name. ``report`` changes nothing; ``default`` makes hidden text and special tokens
harmless; ``strict`` rejects what an attacker hides."""


@dataclass(frozen=True, slots=True)
class GuardChange:
    """One change of a text.

    Attributes:
        kind: TextKind of the finding.
        action: ``"strip"`` or ``"escape"``.
        start: First character, in code points of the round's text.
        end: Character behind the last.
        replacement: Text that stands there now.
        round: 0 for places of the text as it was given.
    """

    kind: str
    action: str
    start: int
    end: int
    replacement: str
    round: int


@dataclass(frozen=True, slots=True)
class EnforcedText:
    """A text as a policy leaves it.

    Attributes:
        text: The text.
        changes: Changes in order.
        verdict: Verdict of the text as it was given.
    """

    text: str
    changes: tuple[GuardChange, ...]
    verdict: Verdict = field(repr=False)


def enforce(
    text: str,
    policy: Policy | str | os.PathLike[str] = "default",
    *,
    tokenizer: TokenizerLike | None = None,
) -> EnforcedText:
    """Change a text as a policy says; nothing that it does not name changes.

    Args:
        text: Text.
        policy: A policy, the name of one, or a TOML file.
        tokenizer: The tokenizer whose special tokens are looked for besides those of public chat
            formats.

    Raises:
        GuardRejected: The policy rejects the text; ``verdict`` has the findings.
        UsageError: There is no such policy.

    Example:
        >>> enforce("a" + chr(0xE0068) + chr(0xE0069) + "b").text
        'ab'
    """
    chosen = Policy.of(policy)
    own = frozenset() if tokenizer is None else special_texts(resolve(tokenizer))
    return enforce_for(text, chosen, own)


def enforce_for(text: str, policy: Policy, own: frozenset[str]) -> EnforcedText:
    """Enforce a policy with the special tokens that ``special_texts`` gave."""
    first = scan_for(text, own, max_kept=None)
    verdict, changes = first, []
    for number in range(_MAX_ROUNDS):
        _refuse(verdict, policy)
        wanted = [f for f in verdict.findings if policy.action_of(f) in ("escape", "strip")]
        if not wanted:
            break
        is_last = number == _MAX_ROUNDS - 1
        text, made = _changed(text, wanted, policy, number, escapes_all=is_last)
        changes.extend(made)
        verdict = scan_for(text, own, max_kept=None)
    return EnforcedText(text, tuple(changes), first)


def _refuse(verdict: Verdict, policy: Policy) -> None:
    rejected = [f for f in verdict.findings if policy.action_of(f) == "reject"]
    if rejected:
        worst = max(rejected, key=lambda f: f.severity.rank)
        raise GuardRejected(
            f"the policy {policy.name} rejects the text: {worst.what} at character {worst.start}"
            + (f", and {len(rejected) - 1} more" if len(rejected) > 1 else ""),
            verdict=verdict_of(rejected, verdict.n_chars),
        )


def _changed(
    text: str, wanted: list[TextFinding], policy: Policy, number: int, *, escapes_all: bool
) -> tuple[str, list[GuardChange]]:
    pieces: list[str] = []
    changes = []
    at = 0
    for finding in sorted(wanted, key=lambda f: (f.start, -f.end)):
        if finding.start < at:
            continue
        action = "escape" if escapes_all else policy.action_of(finding)
        new = _replacement(text[finding.start : finding.end], finding, action)
        pieces += [text[at : finding.start], new]
        at = finding.end
        changes.append(GuardChange(finding.kind, action, finding.start, at, new, number))
    pieces.append(text[at:])
    return "".join(pieces), changes


_SCATTERED: Final = ("hidden-bits", "selector-payload", "tag-payload")


def _replacement(run: str, finding: TextFinding, action: str) -> str:
    def is_meant(char: str) -> bool:
        return properties(char).is_hidden

    if finding.kind in _SCATTERED:
        # A payload may be scattered between letters, which stay.
        return "".join(
            (_escaped(char) if action == "escape" else "") if is_meant(char) else char
            for char in run
        )
    if action == "escape":
        if finding.group == "special-token":
            return _escaped(run[0]) + run[1:]
        return "".join(_escaped(char) for char in run)
    if finding.group == "compatible":
        return unicodedata.normalize("NFKC", run)
    if finding.group == "marks":
        return run[:1]
    return ""


def _escaped(char: str) -> str:
    return f"\\u{{{ord(char):X}}}"

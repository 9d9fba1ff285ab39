"""Untrusted templates: what loops, allocates or reaches outside is stopped and named."""

# ruff: noqa: E501, PT017 - as in test_fuzz_templates

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from jeton.chat import ChatTemplate, TemplateLimits, isolation
from jeton.chat.limits import stopped
from jeton.errors import TemplateError, TemplateLimitError

USER = [{"role": "user", "content": "hello"}]
LIMITS = TemplateLimits(seconds=1.0, memory_bytes=128 << 20, output_chars=100_000)
CRASHES = ("crashed", "recursion")

NESTED = "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"
HOSTILE = [
    # for ever
    ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", ("time",)),
    ("{% set n = 10 ** (10 ** 10) %}", ("time", "memory", "size")),
    ("{{ ('a' * 30)|replace('a', 'b' * 3000000)|length }}", ("time", "memory", "failed", None)),
    ("{{ '%999999999d' % 1 }}", ("time", "memory", "output")),
    # memory
    ("{{ 'a' * 10 ** 10 }}", ("memory",)),
    ("{% set x = 'a' * 10 ** 10 %}", ("memory",)),
    ("{% set x = [0] * 10 ** 9 %}", ("memory",)),
    (
        "{% set ns = namespace(s='aaaa') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        ("memory",),
    ),
    (
        "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        ("memory",),
    ),
    # output
    ("{% for a in range(99999) %}{{ 'aaaaaaaaaa' }}{% endfor %}", ("output",)),
    ("{{ messages[0].content * 30000 }}", ("output",)),
    # sizes
    ("{% for a in range(10 ** 12) %}{% endfor %}", ("size",)),
    ("{{ 'a' * 10 ** 20 }}", ("size",)),
    # recursion
    ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", CRASHES),
    ("{% for a in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", CRASHES),
    (NESTED, (*CRASHES, "syntax", "memory", "failed")),
    ("{% if 1 %}" * 3000 + "{% endif %}" * 3000, (*CRASHES, "syntax", "failed")),
    # outside
    ("{{ ''.__class__.__mro__ }}", ("security",)),
    ("{{ ''['__class__']['__mro__'] }}", ("security",)),
    ("{{ (''|attr('__class__')).__mro__ }}", ("security",)),
    ("{{ cycler.__init__.__globals__.os.popen('id').read() }}", ("security",)),
    ("{{ joiner.__init__.__globals__ }}", ("security",)),
    ("{{ lipsum.__globals__['os'].system('id') }}", ("security",)),
    ("{{ namespace.__init__.__globals__ }}", ("security",)),
    ("{{ raise_exception.__globals__ }}", ("security",)),
    ("{{ '{0.__class__.__mro__}'.format(1) }}", ("security",)),
    ("{{ '{a.__globals__}'.format_map({'a': raise_exception}) }}", ("security",)),
    ("{{ namespace(__class__=1) }}", ("security",)),
    ("{% set ns = namespace() %}{% set ns._x = 1 %}", ("security", "syntax")),
    ("{{ messages.append(1) }}", ("security",)),
    ("{{ messages[0].update(role='system') }}", ("security",)),
    ("{{ dict.__class__.__mro__ }}", ("security",)),
    ("{{ self.__init__.__globals__ }}", ("security",)),
    ("{% for x in self._TemplateReference__context.environment %}{% endfor %}", ("security",)),
    ("{% include 'etc/passwd' %}", ("failed",)),
    ("{% import 'os' as os %}", ("failed",)),
    ("{% extends 'x' %}", ("failed",)),
    ("{{ messages[0].content.nothing.more }}", ("undefined",)),
    ("{{ nothing.more }}", ("undefined",)),
    ("{{ nothing() }}", ("undefined",)),
    # syntax
    ("{% if %}", ("syntax",)),
    ("{{ ", ("syntax",)),
    ("{% generation %}", ("syntax",)),
    ("{% nothing %}", ("syntax",)),
    ("{{ 1|nothing }}", ("syntax",)),
    ("{% macro m(a, a) %}{% endmacro %}", ("syntax", "failed")),
    # others
    ("{{ 1 / 0 }}", ("failed",)),
    ("{{ raise_exception('not today') }}", ("refused",)),
    ("{{ 1 + 'a' }}", ("failed",)),
    ("{{ tools|tojson(indent='x' * 10 ** 10) }}", ("memory",)),
    ("{{ strftime_now('%') }}{{ strftime_now(1) }}", ("failed",)),
    ("{{ messages[0].content.encode('utf-99') }}", ("failed",)),
]


@pytest.mark.parametrize(("source", "reasons"), HOSTILE, ids=[s[:50] for s, _ in HOSTILE])
def test_a_template_is_stopped_and_named(source: str, reasons: tuple[str | None, ...]) -> None:
    template = ChatTemplate.from_source(source, limits=LIMITS)
    try:
        template.render(USER)
    except TemplateError as error:
        assert error.reason in reasons
        assert isinstance(error, TemplateLimitError) == (
            error.reason in ("time", "memory", "output", "recursion", "size")
        )
        assert str(error)[0].islower()
        assert len(str(error)) < 1500
    else:
        assert None in reasons
    # The next rendering does not notice.
    assert ChatTemplate.from_source("fine", limits=LIMITS).render(USER).text == "fine"


TRUSTED_TOO = [(s, r) for s, r in HOSTILE if not {"time", "memory", "crashed"} & set(r)]


@pytest.mark.parametrize(("source", "reasons"), TRUSTED_TOO, ids=[s[:50] for s, _ in TRUSTED_TOO])
def test_a_trusted_template_is_in_the_sandbox_too(source: str, reasons: tuple[str, ...]) -> None:
    template = ChatTemplate.from_source(source, is_trusted=True, limits=LIMITS)
    with pytest.raises(TemplateError) as caught:
        template.render(USER)
    assert caught.value.reason in reasons


def test_errors_say_where() -> None:
    for is_trusted in (True, False):
        for source, line in (
            ("a\nb\n{{ raise_exception('no ' ~ messages[0].content) }}", 3),
            ("a\n{% if %}", 2),
            ("\n{{ 1 / 0 }}", 2),
        ):
            with pytest.raises(TemplateError, match=f"in line {line}") as caught:
                ChatTemplate.from_source(source, is_trusted=is_trusted).render(USER)
            assert caught.value.line == line
        with pytest.raises(TemplateError, match="refuses in line 1: no hello"):
            ChatTemplate.from_source(
                "{{ raise_exception('no ' ~ messages[0].content) }}", is_trusted=is_trusted
            ).render(USER)


def test_values_arrive_as_they_are() -> None:
    values: dict[str, Any] = {
        "a": [1, 2.5, None, True, float("inf"), "é\ud800", {"text": ["x", []], "": {"tuple": 1}}],
        "b": {2: "two", None: "none", True: "yes", "mapping": [["k", "v"]]},
        "c": ((1, 2), ("x",)),
    }
    source = "{{ a }}{{ b }}{{ c }}{% for k, v in b.items() %}{{ k }}={{ v }}{% endfor %}{{ c is mapping }}"
    inside = ChatTemplate.from_source(source, is_trusted=True).render(USER, **values)
    outside = ChatTemplate.from_source(source).render(USER, **values)
    assert inside == outside


def test_a_child_serves_many_and_dies_alone() -> None:
    template = ChatTemplate.from_source("{{ messages[0].content }}")
    template.render(USER)
    with isolation._lock:
        child = next(c for c in isolation._idle if c.limits == TemplateLimits())
    template.render(USER)
    assert child.is_alive()
    child.process.kill()
    child.process.wait()
    assert template.render(USER).text == "hello"
    assert child.stdin.closed


def test_many_threads() -> None:
    template = ChatTemplate.from_source("{{ messages[0].content }}!")
    results: list[bool] = []

    def work(number: int) -> None:
        for i in range(3):
            text = f"{number} {i}"
            results.append(template.render([{"role": "user", "content": text}]).text == f"{text}!")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 18
    assert len(isolation._idle) <= isolation._MAX_IDLE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_children_of_its_own() -> None:
    code = """
    import os
    from jeton.chat import ChatTemplate
    template = ChatTemplate.from_source("{{ messages[0].content }}")
    say = lambda text: template.render([{"role": "user", "content": text}]).text
    assert say("a") == "a"
    pid = os.fork()
    if pid == 0:
        assert say("b") == "b"
        raise SystemExit
    assert os.waitpid(pid, 0)[1] == 0
    assert say("c") == "c"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_no_process_is_left_behind() -> None:
    code = """
    from jeton.chat import ChatTemplate, isolation
    ChatTemplate.from_source("a").render([{"role": "user", "content": "a"}])
    print(*[child.process.pid for child in isolation._idle])
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_child_can_do_next_to_nothing() -> None:
    ChatTemplate.from_source("a", limits=LIMITS).render(USER)
    with isolation._lock:
        child = next(c for c in isolation._idle if c.limits == LIMITS)
    limits = Path(f"/proc/{child.process.pid}/limits").read_text(encoding="ascii")
    rows = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()}
    assert rows["Max file size"] == ["0", "0"]
    assert rows["Max core file size"] == ["0", "0"]
    assert rows["Max open files"] == ["3", "3"]
    assert rows["Max processes"] == ["0", "0"]
    assert rows["Max address space"][0].isdecimal()
    assert rows["Max cpu time"][0].isdecimal()
    environment = Path(f"/proc/{child.process.pid}/environ").read_bytes()
    assert b"JETON" not in environment
    assert b"HOME" not in environment


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"text": 1, "runs": []},
        {"text": "ab", "runs": [[0, 3, 1]]},
        {"text": "ab", "runs": [[1, 1, 1]]},
        {"text": "ab", "runs": [[1, 2, 1], [0, 1, 1]]},
        {"text": "ab", "runs": [[0, 1, 8]]},
        {"text": "ab", "runs": [[0, 1, True]]},
        {"text": "ab", "runs": [[0, 1]]},
        {"text": "ab", "runs": 3},
    ],
)
def test_an_answer_is_checked(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_ask", lambda *_: answer)
    with pytest.raises(TemplateError, match="answer cannot be read"):
        isolation.render_in_child("x", {}, LIMITS)


def test_ctrl_c_ends_the_wait() -> None:
    source = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    template = ChatTemplate.from_source(source, limits=TemplateLimits(seconds=60))
    ChatTemplate.from_source("a", limits=TemplateLimits(seconds=60)).render(USER)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        template.render(USER)
    timer.join()


def test_errors_travel() -> None:
    for error in (
        TemplateError("a", reason="syntax", line=3),
        stopped("time", limit="5 seconds", line=2),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert (again.reason, again.line) == (error.reason, error.line)

"""Libraries in processes of their own: the files that they share, and the machine."""

from __future__ import annotations

import json
import os
import platform
import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from jeton._core import Tokenizer
from jeton.benchmarking.result import Machine
from jeton.errors import JetonError

FORMATS = {
    "tiktoken": "tokenizer.tiktoken",
    "tokenizer.json": "tokenizer.json",
    "sentencepiece": "tokenizer.model",
}
"""Formats of the libraries, and their files."""


def write_formats(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    """Write the formats that hold the tokenizer exactly.

    Returns:
        Paths by format; ``FORMAT_why`` where there is none; ``own``: Jeton's own file; ``name``,
        ``pattern``, ``folder``.
    """
    own = folder / "own.jeton.json"
    tokenizer.save(own, format="jeton")
    files: dict[str, Any] = {
        "own": str(own),
        "name": tokenizer.name or "",
        "pattern": tokenizer.split_pattern,
        "folder": str(folder),
    }
    for format_name, file_name in FORMATS.items():
        path = folder / file_name
        try:
            # The pattern and the special tokens of a rank file stand beside it: no loss.
            tokenizer.save(path, format=format_name)
        except (JetonError, OSError) as error:
            path.unlink(missing_ok=True)
            files[f"{format_name}_why"] = (
                f"the tokenizer does not fit into its format ({str(error).splitlines()[0]})"
            )
        else:
            files[format_name] = str(path)
    return files


_WORKER = Path(__file__).with_name("worker.py")
_MAX_COMPLAINT_CHARS = 300


class LibraryProcessError(Exception):
    """The library cannot read the tokenizer (``cannot``), raised, crashed or took too long."""

    def __init__(self, message: str, *, cannot: bool = False) -> None:
        super().__init__(message)
        self.cannot = cannot


class LibraryProcess:
    """One library in a process of its own. Closed by `close` or as a context manager."""

    def __init__(self, *, num_threads: int, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._is_closed = False
        environment = {
            **os.environ,
            # Libraries on rayon take their number of threads from here.
            "RAYON_NUM_THREADS": str(num_threads),
            "TOKENIZERS_PARALLELISM": "true",
            "TRANSFORMERS_VERBOSITY": "error",
            # A benchmark reads what is at hand; nothing is fetched.
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            # -P: the folder of the worker is no place to import from.
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=environment,
        )
        self._answers: queue.Queue[bytes] = queue.Queue()
        # A thread that reads, since a pipe has no timeout on every system.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                self._answers.put(line)
        self._answers.put(b"")

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and wait for its answer.

        Raises:
            LibraryProcessError: The library cannot, raised, crashed, or took too long.
        """
        line = json.dumps({"do": do, **arguments}) + "\n"
        if self._is_closed:
            raise LibraryProcessError("its process has ended")
        try:
            if self._process.stdin is None:
                raise BrokenPipeError
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
            answer = self._answers.get(timeout=self._timeout_s)
        except queue.Empty:
            self.close()
            raise LibraryProcessError(f"no answer after {self._timeout_s:g} s") from None
        except OSError:
            answer = b""
        if not answer:
            raise LibraryProcessError(self._how_it_ended())
        value: dict[str, Any] = json.loads(answer)
        if "cannot" in value:
            raise LibraryProcessError(value["cannot"], cannot=True)
        if "failed" in value:
            raise LibraryProcessError(value["failed"])
        return value

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self._complaints.seek(0)
        said = self._complaints.read().decode(errors="replace").strip().splitlines()
        last = said[-1][:_MAX_COMPLAINT_CHARS] if said else "it said nothing"
        if code is not None and code < 0:
            return f"ended by signal {-code}: {last}"
        return f"ended with code {code}: {last}"

    def close(self) -> None:
        """End the process, politely and then for sure; once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=1)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._complaints.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def describe_machine() -> Machine:
    """The processor, its cores, the memory, the system and Python; nothing that names a user."""
    return Machine(
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.lower().startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None

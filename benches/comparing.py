"""Cases: all libraries that can do one thing, checked, then timed in turn, each in its process.

A warm case keeps the processes and encodes the same text again; a fresh one starts them anew in
each round and times the first call alone. Libraries far behind the fastest get fewer rounds.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benches import host_memory, record, texts, vocabularies
from benches.cases import LISTS, Case
from benches.contenders import Closing, Contender, Failed, Missing, one_core
from benches.harness import Row, rank
from benches.peers.base import VocabularyFiles
from benches.rounds import Run, Settings, hopeless, rounds_in_turn
from benches.targets import BY_KEY

__all__ = ["Comparison"]

KEPT = {"JETON_COMPILED_CACHE": "1"}
"""A fresh process of Jeton finds what an earlier one has kept, as it does unless told otherwise."""


@lru_cache(maxsize=64)
def _stored(sample: texts.Sample) -> Path:
    """Write the documents where the processes read them; one file for each content."""
    data = json.dumps(sample.documents).encode()
    name = f"{sample.name}-{blake2b(data, digest_size=8).hexdigest()}.json"
    path = vocabularies.BUILD / "texts" / name.replace(" ", "-")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        temporary = path.with_suffix(".part")
        temporary.write_bytes(data)
        temporary.replace(path)
    return path


def _named(targets: Sequence[str]) -> set[str]:
    """The libraries that bars name: theirs are not to be single measurements, however slow."""
    return {name for key in targets for name in BY_KEY[key].against or ()}


def _version(library: str) -> str:
    try:
        return version(record.DISTRIBUTIONS[library])
    except PackageNotFoundError:
        return "absent"


def _cores(case: Case) -> list[int] | None:
    return None if case.all_cores else one_core()


def _note(case: Case, answer: Mapping[str, Any]) -> str | None:
    """Note for the reader about a library's way of doing it."""
    if case.operation.endswith("arrays") and not answer["has_arrays"]:
        return "lists: it has no arrays"
    note: str | None = answer["note"]
    return note


class Comparison(Closing):
    """The processes of one vocabulary, the texts and the references; a context manager.

    Args:
        settings: how much is done.
        variants: further contenders: name -> (library, environment of its process).
    """

    def __init__(
        self,
        settings: Settings,
        *,
        variants: Mapping[str, tuple[str, Mapping[str, str]]] | None = None,
    ) -> None:
        self.settings = settings
        self._variants = dict(variants or {})
        self._key: tuple[object, ...] = ()
        self._contenders: dict[str, Contender] = {}
        self._reasons: dict[str, tuple[str, str]] = {}
        self._left_out: dict[tuple[object, ...], dict[str, str]] = {}

    def close(self) -> None:
        """End all processes."""
        for contender in self._contenders.values():
            contender.close()
        self._contenders = {}

    def reference(
        self, files: VocabularyFiles, sample: texts.Sample, *, fallback: str | None = None
    ) -> Path:
        """The ids of a sample by the vocabulary's own library, computed once and kept.

        Where that one fails, ``fallback`` computes them, anew each time: it may be under test.
        """
        documents = _stored(sample)
        parts = (files.name, files.pattern or "", files.reference, _version(files.reference))
        digest = blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
        path = vocabularies.BUILD / "reference" / f"{documents.stem}-{digest}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            return path
        # What failed once is not waited for again where another library can stand in.
        failed = path.with_suffix(".failed")
        if fallback is None or not failed.is_file():
            try:
                self._write_reference(files.reference, files, documents, path)
            except Failed as reason:
                if fallback is None:
                    raise
                failed.write_text(f"{reason}\n", encoding="utf-8")
            else:
                return path
        path = path.with_name(f"{documents.stem}-{fallback}.npz")
        self._write_reference(fallback, files, documents, path)
        return path

    @staticmethod
    def _write_reference(library: str, files: VocabularyFiles, documents: Path, path: Path) -> None:
        with Contender(library) as contender:
            contender.ask("load", files=files.to_dict())
            contender.ask(
                "reference", documents=str(documents), reference=str(path), timeout_s=120.0
            )

    def request(
        self,
        operation: str,
        files: VocabularyFiles,
        sample: texts.Sample,
        options: Mapping[str, Any] | None = None,
        *,
        fallback: str | None = None,
    ) -> dict[str, Any]:
        """Request that makes an operation ready in a process."""
        return {
            "operation": operation,
            "documents": str(_stored(sample)),
            "reference": str(self.reference(files, sample, fallback=fallback)),
            "options": dict(options or {}),
        }

    def _runs(self, libraries: Sequence[str] | None) -> list[Run]:
        """Runs that take part: of the settings or variants, and of ``libraries`` if given."""
        taking = {*self.settings.libraries, *self._variants}
        names = self.settings.libraries if libraries is None else dict.fromkeys(libraries)
        return [Run(name) for name in names if name in taking]

    def _contender(
        self, name: str, files: VocabularyFiles, cpus: Sequence[int] | None
    ) -> Contender:
        """The library's process with the vocabulary loaded; what failed before fails again."""
        key = (files.name, files.pattern, tuple(cpus or ()))
        if key != self._key:
            self.close()
            self._key, self._reasons = key, {}
        if name in self._reasons:
            kind, words = self._reasons[name]
            raise (Missing if kind == "missing" else Failed)(words)
        if name not in self._contenders:
            library, environment = self._variants.get(name, (name, {}))
            contender = Contender(library, cpus=cpus, environment=environment)
            try:
                contender.ask("load", files=files.to_dict())
            except (Missing, Failed) as reason:
                kind = "missing" if isinstance(reason, Missing) else "failed"
                self._reasons[name] = (kind, str(reason))
                contender.close()
                raise
            self._contenders[name] = contender
        return self._contenders[name]

    def _drop(self, name: str) -> None:
        contender = self._contenders.pop(name, None)
        if contender is not None:
            contender.close()

    def measure(self, case: Case) -> dict[str, Any]:
        """Time a case; return it as it is recorded."""
        runs = self._runs(case.libraries)
        alike = (case.group, case.files.name, case.files.pattern, case.fresh)
        known = self._left_out.get(alike, {})
        for run in runs:
            run.missing = known.get(run.name)
        (self._fresh if case.fresh else self._warm)(case, runs)
        if case.group is not None and alike not in self._left_out:
            self._left_out[alike] = {
                name: f"{times:.0f} times slower than the fastest on {case.sample.name}"
                for name, times in hopeless(runs, but=_named(case.targets)).items()
            }
        return self.case(
            case.words,
            case.files,
            case.sample,
            runs,
            targets=case.targets,
            figure=case.figure,
            repeats=case.options.get("repeats", 1),
        )

    def _warm(self, case: Case, runs: Sequence[Run]) -> None:
        """Encode the same text again and again: once to check, then the rounds."""
        request = self._request_of(case)
        for run in runs:
            if run.missing is not None:
                continue

            def begin(run: Run = run) -> None:
                contender = self._contender(run.name, case.files, _cores(case))
                answer = contender.ask("prepare", **request)
                contender.ask("run")
                run.wrong = contender.ask("check")["wrong"]
                run.note = _note(case, answer)

            run.guarded(begin)

        def once(run: Run) -> None:
            if case.takes_memory:
                host_memory.touch()
            run.seconds.append(self._contenders[run.name].ask("run")["seconds"])

        rounds_in_turn(
            runs,
            once,
            rounds=self.settings.rounds,
            distant_rounds=self.settings.distant_rounds,
            named=_named(case.targets),
            named_rounds=self.settings.rounds,
        )
        for run in runs:
            if run.failed is not None:
                self._drop(run.name)

    def _fresh(self, case: Case, runs: Sequence[Run]) -> None:
        """Encode a text once in a process that has encoded nothing but ``before``, each round."""
        self.close()
        request = self._request_of(case)

        def once(run: Run) -> None:
            library, environment = self._variants.get(run.name, (run.name, {}))
            environment = {**KEPT, **environment}
            host_memory.touch()
            with Contender(library, cpus=_cores(case), environment=environment) as contender:
                contender.ask("load", files=case.files.to_dict())
                if case.before is not None:
                    documents = str(_stored(case.before))
                    contender.ask("prepare", **{**request, "documents": documents})
                    contender.ask("run", timeout_s=case.timeout_s)
                answer = contender.ask("prepare", **request)
                seconds = contender.ask("run", timeout_s=case.timeout_s)["seconds"]
                if not run.seconds:
                    run.wrong = contender.ask("check")["wrong"]
                    run.note = _note(case, answer)
                run.seconds.append(seconds)

        rounds_in_turn(
            runs,
            once,
            rounds=case.rounds or self.settings.fresh_rounds,
            distant_rounds=1,
            named=_named(case.targets),
            named_rounds=self.settings.distant_rounds,
        )

    def _request_of(self, case: Case) -> dict[str, Any]:
        return self.request(
            case.operation, case.files, case.sample, case.options, fallback=case.fallback
        )

    def loading(
        self, files: VocabularyFiles, sample: texts.Sample, *, compiled: bool
    ) -> dict[str, Any]:
        """Load and encode one sentence in a fresh process, from the file or the compiled form."""
        self.close()
        folder = vocabularies.BUILD / "compiled"
        folder.mkdir(parents=True, exist_ok=True)
        request = {"files": files.to_dict(), "folder": str(folder)}
        (text,) = sample.documents
        ours = folder / "jeton"
        environment = {
            "JETON_CACHE_DIR": str(ours),
            "JETON_COMPILED_CACHE": "1" if compiled else "0",
        }
        runs = [Run(name) for name in self.settings.libraries]
        shutil.rmtree(ours, ignore_errors=True)
        if compiled:
            for run in runs:

                def make(run: Run = run) -> None:
                    with Contender(run.name, environment=environment) as contender:
                        contender.ask("load", files=request["files"], folder=str(folder), text=text)
                        contender.ask("save", files=request["files"], folder=str(folder))
                    if run.name == "jeton" and not any(ours.rglob("*")):
                        raise Missing("this version keeps no compiled vocabularies")

                run.guarded(make)

        def once(run: Run) -> None:
            host_memory.touch()
            with Contender(run.name, environment=environment) as contender:
                if not compiled and contender.ask("about")["bundled"]:
                    raise Missing("carries its vocabularies and reads no file")
                answer = contender.ask(
                    "load",
                    files=request["files"],
                    folder=str(folder),
                    text=text,
                    compiled=compiled,
                )
                if not run.seconds:
                    request_ids = self.request(LISTS, files, sample)
                    contender.ask("prepare", **request_ids)
                    contender.ask("run")
                    run.wrong = contender.ask("check")["wrong"]
                run.seconds.append(answer["seconds"])

        rounds_in_turn(
            runs,
            once,
            rounds=self.settings.rounds,
            distant_rounds=self.settings.distant_rounds,
        )
        title = "load and first encode, " + ("compiled form" if compiled else "from the file")
        target = "load-compiled" if compiled else "load-file"
        return self.case(title, files, sample, runs, targets=[target], figure="ms")

    @staticmethod
    def case(
        title: str,
        files: VocabularyFiles,
        sample: texts.Sample,
        runs: Sequence[Run],
        *,
        targets: Sequence[str],
        figure: str = "MB/s",
        repeats: int = 1,
    ) -> dict[str, Any]:
        """The rows of the runs, ranked, as they are recorded."""
        rows = [
            Row(
                name=run.name,
                values=() if run.failed else tuple(run.seconds),
                wrong=run.wrong,
                failed=run.failed,
                n_bytes=sample.n_bytes * repeats,
                note=run.note,
            )
            for run in runs
            if run.missing is None
        ]
        return record.case(
            title,
            files.name,
            sample.name,
            rank(rows),
            targets=targets,
            n_texts=len(sample.documents) * repeats,
            figure=figure,
            absent={run.name: run.missing for run in runs if run.missing is not None},
        )

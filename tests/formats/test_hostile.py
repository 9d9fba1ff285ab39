"""Files that are damaged, endless, or no files at all: one clear error, and soon."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton import FormatError, JetonError, LimitError, _core
from jeton.formats import FileFormat, detect, load_file, read_folder, reading
from jeton.formats.homes import find_tokenizer_file
from tests.formats import small

SEEDS = {
    "x.tiktoken": small.ranks(),
    "x.json": small.tokenizer().to_hf_json(),
    "y.json": small.tekken(),
    "z.json": small.claude(),
    "x.jeton.json": small.tokenizer().to_canonical(),
    "x.gguf": small.gguf(),
    "vocab.txt": small.vocab_txt(),
    "list.txt": small.rwkv(),
}

# Beginnings of the formats, and of compressed files.
STARTS = [
    b"",
    b"GGUF",
    b"{",
    b'{"jeton"',
    b'{"model": {',
    b"\n\x0e\n\x05",
    b"[UNK]\n",
    b"#version",
    b"1 '",
    b'"bpe_simple_vocab_16e6.txt#version',
    b"IQ== ",
    b"\x28\xb5\x2f\xfd",
    b"\x1f\x8b",
    b"\xef\xbb\xbf",
]


@given(
    st.sampled_from(STARTS),
    st.binary(max_size=200),
    st.sampled_from([None, *SEEDS, "merges.txt", "vocab.json", "x.model", "", "\0", "a/b.zst"]),
)
def test_detect_never_raises(start: bytes, rest: bytes, name: str | None) -> None:
    assert isinstance(detect(start + rest, path=name), FileFormat)


@pytest.mark.timeout(600)  # thousands of files in the thorough profile
@given(st.sampled_from(sorted(SEEDS)), st.data())
def test_mutated_files_load_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    content = bytearray(SEEDS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "double", "insert"])):
            case "flip":
                content[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del content[at : at + data.draw(st.integers(1, 40))]
            case "double":
                content[at:at] = content[at : at + 40]
            case _:
                content[at:at] = data.draw(st.binary(max_size=8))
        if not content:
            break
    path = tmp_path_factory.mktemp("mutated") / name
    path.write_bytes(content)
    pattern = "gpt2" if name.endswith(".tiktoken") else None
    message = name
    try:
        load_file(path, pattern=pattern)
    except JetonError as error:
        message = str(error)
    assert name in message


class TestNoRegularFiles:
    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        os.mkfifo(path)
        with pytest.raises(FormatError, match=r"x\.json is no regular file\nhint:"):
            load_file(path)

    def test_a_pipe_in_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_bytes(SEEDS["x.json"])
        os.mkfifo(tmp_path / "tokenizer_config.json")
        with pytest.raises(FormatError, match=r"tokenizer_config\.json is no regular file"):
            load_file(tmp_path)

    def test_links_that_go_in_circles(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").symlink_to(tmp_path / "b.json")
        (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
        with pytest.raises(OSError, match="symbolic links"):
            load_file(tmp_path / "a.json")
        (tmp_path / "tokenizer.json").symlink_to(tmp_path / "a.json")
        with pytest.raises(FormatError, match="holds no tokenizer"):
            load_file(tmp_path)

    def test_a_device(self) -> None:
        with pytest.raises(FormatError, match="no regular file"):
            load_file("/dev/zero")


class TestSizes:
    def test_a_sparse_file_of_ten_gigabytes(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        with path.open("wb") as stream:
            stream.truncate(10 << 30)
        with pytest.raises(LimitError, match=r"10,737,418,240 bytes"):
            load_file(path)

    def test_a_model_file_of_ten_gigabytes_is_read_at_its_head(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reading, "_FIRST_READ_BYTES", 64)
        seen: list[int] = []
        real = reading.read_beginning

        def watched(file: Path, n_bytes: int) -> bytes:
            seen.append(n_bytes)
            return real(file, n_bytes)

        monkeypatch.setattr(reading, "read_beginning", watched)
        path = tmp_path / "x.gguf"
        path.write_bytes(small.gguf(filler_bytes=100_000))
        with path.open("ab") as stream:
            stream.truncate(10 << 30)
        assert load_file(path).encode("hello world") == [259, 264]
        assert 100_000 < max(seen) < 1_000_000

    def test_a_model_file_cut_off_within_its_head(self, tmp_path: Path) -> None:
        path = tmp_path / "x.gguf"
        data = small.gguf()
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(FormatError, match=r"x\.gguf.*cut off"):
            load_file(path)

    def test_metadata_that_promises_too_much(self, tmp_path: Path) -> None:
        path = tmp_path / "x.gguf"
        path.write_bytes(
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a"
            + struct.pack("<IQ", 8, 1 << 40)
        )  # fmt: skip
        with path.open("ab") as stream:
            stream.truncate(10 << 30)
        with pytest.raises((FormatError, LimitError), match=r"x\.gguf"):
            load_file(path)

    def test_a_packed_file_that_unpacks_to_too_much(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reading, "MAX_FILE_BYTES", 1000)
        path = tmp_path / "x.gguf.zst"
        path.write_bytes(_core.compress_zstd(small.gguf(filler_bytes=100_000)))
        with pytest.raises(LimitError):
            load_file(path)


class TestFolders:
    def test_a_folder_of_very_many_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at = 0
        real = os.scandir

        class Counted:
            def __init__(self, path: Path) -> None:
                self.inside = real(path)

            def __enter__(self) -> Counted:
                return self

            def __exit__(self, *_: object) -> None:
                self.inside.close()

            def __iter__(self) -> Counted:
                return self

            def __next__(self) -> os.DirEntry[str]:
                nonlocal looked_at
                looked_at += 1
                # The same entries again and again: a folder without end.
                for entry in self.inside:
                    return entry
                self.inside.close()
                self.inside = real(tmp_path)
                return next(self.inside)

        (tmp_path / "x.txt").write_bytes(b"")
        monkeypatch.setattr("jeton.formats.homes.os.scandir", Counted)
        assert find_tokenizer_file(tmp_path) is None
        assert looked_at <= 10_001

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("tokenizer_config.json", b"{", r"tokenizer_config\.json breaks off.*line 1"),
            ("tokenizer_config.json", b"[]", "holds a list; expected an object"),
            ("tokenizer_config.json", b"\xff", r"tokenizer_config\.json is not UTF-8 from byte 0"),
            ("tokenizer_config.json", b"[" * 100_000, "nested too deeply"),
            ("tokenizer_config.json", b'{"a": ' + b"1" * 5000 + b"}", "has a huge number"),
            ("tokenizer_config.json", b'{"added_tokens_decoder": []}', "is no object"),
            ("tokenizer_config.json", b'{"added_tokens_decoder": {"-1": {}}}', "entry '-1'"),
            (
                "tokenizer_config.json",
                b'{"added_tokens_decoder": {"9": {"content": "\\ud800"}}}',
                "entry '9'",
            ),
            ("added_tokens.json", b'{"<x>": "9"}', "the id of '<x>' is 9"),
            ("added_tokens.json", b'{"<x>": 4294967296}', "the id of '<x>'"),
            ("special_tokens_map.json", b"null", "holds a NoneType"),
            ("chat_template.jinja", b"\xff", r"chat_template\.jinja is not UTF-8"),
        ],
    )
    def test_damaged_small_files(
        self, tmp_path: Path, name: str, data: bytes, message: str
    ) -> None:
        (tmp_path / "tokenizer.json").write_bytes(SEEDS["x.json"])
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FormatError, match=message):
            load_file(tmp_path)

    def test_a_file_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"")
        with pytest.raises(NotADirectoryError):
            read_folder(tmp_path / "x")

    @given(
        st.dictionaries(
            st.sampled_from(
                [
                    "added_tokens_decoder", "bos_token", "eos_token", "additional_special_tokens",
                    "chat_template", "model_max_length", "add_bos_token", "tokenizer_class",
                    "do_lower_case", "extra_special_tokens",
                ]
            ),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                lambda inner: st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["content", "300", "lstrip", "name", "template"]),
                                  inner, max_size=3),
                max_leaves=8,
            ),
        )
    )  # fmt: skip
    def test_settings_of_any_kind_load_or_say_why(
        self, tmp_path_factory: pytest.TempPathFactory, config: dict[str, object]
    ) -> None:
        folder = tmp_path_factory.mktemp("folder")
        (folder / "tokenizer.json").write_bytes(SEEDS["x.json"])
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        message = str(folder)
        try:
            read_folder(folder)
            load_file(folder)
        except JetonError as error:
            message = str(error)
        assert str(folder) in message

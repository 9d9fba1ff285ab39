"""Errors of the operating system in words: the place, the reason, a hint."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = "look at the permissions of the file and its folder, or name another place"
_BY_NUMBER: Mapping[int, str] = {
    **dict.fromkeys(_FULL, "make room there, or name another disk; nothing was left half-written"),
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.EROFS: "name a place that can be written to",
    errno.ENOENT: "look at the spelling, and whether the folder is there",
    errno.ENOTDIR: "a part of the path is a file; name another path",
    errno.EISDIR: "name a file in it",
    errno.ENAMETOOLONG: "take a shorter name",
    errno.ELOOP: "the link leads to itself; name the file that it should lead to",
    errno.EADDRINUSE: "another program listens there; name another port",
    errno.EADDRNOTAVAIL: "this machine does not have that address; name one of its own",
    socket.EAI_NONAME: "look at the spelling of the host; it is a name or an address",
    errno.ESRCH: "look at the number of the process, and whether it still runs",
    errno.EBADF: "standard input or output is closed; give the command one: </dev/null, >/dev/null",
    errno.EMFILE: "close files, or raise the limit: ulimit -n",
}
_OTHERWISE = "look whether the file and its disk can be read and written"


def os_message(error: OSError) -> str:
    """The words of an error of the system: the place, the reason, a hint."""
    reason = error.strerror
    if not reason:
        text = str(error) or type(error).__name__
        number = errno.ENOENT if isinstance(error, FileNotFoundError) else error.errno
        return text if "\nhint: " in text else f"{text}\nhint: {_hint_of(number)}"
    text = reason[:1].lower() + reason[1:]
    if "\nhint: " not in text:
        text += f"\nhint: {_hint_of(error.errno)}"
    if error.filename is None:
        return f"cannot write the output: {text}" if error.errno in _FULL else text
    places = [
        os.fsdecode(p) for p in (error.filename, error.filename2) if isinstance(p, str | bytes)
    ]
    return f"{' -> '.join(places) or error.filename}: {text}"


def _hint_of(number: int | None) -> str:
    return _BY_NUMBER.get(number or 0, _OTHERWISE)

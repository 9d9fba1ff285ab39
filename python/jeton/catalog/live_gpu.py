"""Memory and power of this machine's GPUs right now, as ``nvidia-smi`` reports them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from jeton.catalog.gpu_facts import GpuFacts, gpu

_FIELDS = ("index", "name", "memory.total", "memory.used", "power.draw", "utilization.gpu")
_MIB = 1024 * 1024
_TIMEOUT_S = 10
"""A driver that does not answer in this time is taken as absent."""

_CATALOG_NAMES = {
    "h100 80gb hbm3": "H100-SXM",
    "h100 pcie": "H100-PCIe",
    "h100 nvl": "H100-NVL",
    "h200": "H200-SXM",
    "b200": "B200-SXM",
    "a100-sxm4-80gb": "A100-80GB",
    "a100-sxm4-40gb": "A100-40GB",
    "a100 80gb pcie": "A100-PCIe-80GB",
    "l40s": "L40S",
    "l4": "L4",
    "a10g": "A10G",
    "tesla t4": "T4",
    "rtx 3090": "RTX-3090",
    "rtx 4090": "RTX-4090",
    "rtx 5090": "RTX-5090",
}
"""NVIDIA's names in the driver, without ``NVIDIA`` and ``GeForce``, and those of the catalog."""


@dataclass(frozen=True, slots=True)
class LiveGpu:
    """One GPU of this machine.

    Attributes:
        index: Number in the machine.
        name: Name that the driver gives.
        memory_total_bytes: Memory, as the driver reports it.
        memory_used_bytes: Memory in use by anyone.
        power_watts: Power drawn now; None if the driver does not say.
        busy_share: Share of the last interval in which a kernel ran, 0 to 1; None if unknown.
        facts: The catalog's entry; None if it has none of that name.
    """

    index: int
    name: str
    memory_total_bytes: int
    memory_used_bytes: int
    power_watts: float | None
    busy_share: float | None
    facts: GpuFacts | None

    @property
    def memory_free_bytes(self) -> int:
        """Memory that nobody uses."""
        return self.memory_total_bytes - self.memory_used_bytes


def live_gpus() -> tuple[LiveGpu, ...]:
    """Return the NVIDIA GPUs of this machine; empty where there is none or no driver.

    Source: ``nvidia-smi --query-gpu``, part of NVIDIA's driver.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        answer = subprocess.run(
            [program, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"],
            capture_output=True,
            check=True,
            text=True,
            timeout=_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    return tuple(found for line in answer.splitlines() if (found := _parse(line)) is not None)


def _parse(line: str) -> LiveGpu | None:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(_FIELDS):
        return None
    index, total, used = _number(cells[0]), _number(cells[2]), _number(cells[3])
    if index is None or total is None or used is None:
        return None
    busy = _number(cells[5])
    return LiveGpu(
        index=int(index),
        name=cells[1],
        memory_total_bytes=int(total) * _MIB,
        memory_used_bytes=int(used) * _MIB,
        power_watts=_number(cells[4]),
        busy_share=None if busy is None else busy / 100,
        facts=_facts(cells[1]),
    )


def _number(text: str) -> float | None:
    """Read a number; None for ``[N/A]`` and the like."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None


def _facts(name: str) -> GpuFacts | None:
    """Find the catalog's entry of a driver's name; None for a card that the catalog lacks."""
    known = _CATALOG_NAMES.get(name.casefold().removeprefix("nvidia ").removeprefix("geforce "))
    return None if known is None else gpu(known)

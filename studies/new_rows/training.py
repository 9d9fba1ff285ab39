"""A little training of new rows alone: the body and all old rows stay as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import jeton
from studies.new_rows.network import Network, NewRows

__all__ = ["BATCH_TEXTS", "N_STEPS", "RATE", "WINDOW", "trained", "windows_of"]

N_STEPS, BATCH_TEXTS, WINDOW = 300, 8, 128
"""Steps, windows of a step, tokens of a window."""
RATE = 5e-4
"""Learning rate of Adam at its highest; it rises for a tenth of the steps and then falls to 0.

At 2e-3 and 130 tokens a step, rows of tokens that never occurred were pushed about by the output
layer alone: after 200 steps medical text cost more than before, 0.119 and not 0.088 bits a byte.
"""


def trained(
    network: Network,
    rows: NewRows,
    windows: NDArray[np.int64],
    *,
    is_untied: bool,
    on_step: Callable[[int, float], None],
) -> NewRows:
    """Returns rows after training on windows, (n_steps, n_texts, n_tokens).

    Args:
        network: The model, which stays as it is.
        rows: The rows to start from.
        windows: Ids that are learned from, in their order.
        is_untied: True if the two sides are trained apart.
        on_step: Told each step, and its loss in nats a token.
    """
    import torch

    made = rows.input.clone().requires_grad_(requires_grad=True)
    head = rows.head.clone().requires_grad_(requires_grad=True) if is_untied else made
    optimizer = torch.optim.Adam([made, head] if is_untied else [made], lr=RATE, betas=(0.9, 0.95))
    now = NewRows(made, head)
    for step, ids in enumerate(torch.from_numpy(windows)):
        share = step / len(windows)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / (0.1 * len(windows))) * (1 - share)
        # Products in 16 bits take a quarter of the time; rows and sums keep 32.
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states = network.states(ids[:, :-1], now)
            logits, total = network.told(states, ids[:, 1:], now)
            total = torch.logaddexp(total, (states @ head.T).float().logsumexp(-1))
            loss = (total - logits).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        on_step(step + 1, float(loss.detach()))
    return NewRows(made.detach(), head.detach())


def windows_of(
    tokenizer: jeton.Tokenizer, texts: Sequence[str], *, start: int
) -> NDArray[np.int64]:
    """Draws windows from texts, each behind the start token: the same for every way.

    Raises:
        ValueError: No text is long enough.
    """
    batch = tokenizer.encode_batch(texts)
    sizes = np.diff(batch.offsets)
    long_enough = np.flatnonzero(sizes >= WINDOW)
    if not len(long_enough):
        raise ValueError(f"no text has {WINDOW} tokens")
    rng = np.random.default_rng(0)
    chosen = rng.choice(long_enough, N_STEPS * BATCH_TEXTS)
    first = batch.offsets[chosen] + rng.integers(0, sizes[chosen] - WINDOW + 1)
    ids = batch.ids[first[:, None] + np.arange(WINDOW)].astype(np.int64)
    ids = np.concatenate([np.full((len(ids), 1), start), ids], axis=1)
    return ids.reshape(N_STEPS, BATCH_TEXTS, WINDOW + 1)

"""A replayed trace: what each policy and tokenizer made of the same traffic."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.simulation_charts import simulation_charts
from jeton.report.tables import columns_of
from jeton.report.tree import (
    ALL,
    MARKDOWN,
    PAGE,
    PAPER,
    Charts,
    Fold,
    Only,
    Paragraph,
    Section,
    Table,
    TableRow,
    measured,
    quoted,
    words_column,
)

_POLICIES = {
    "static": "static: the longest is reserved",
    "dynamic": "dynamic: pages as needed",
    "prediction": "prediction: as foreseen",
}
_TITLE = "Your traffic replayed on the GPU"


def traffic(numbers: Numbers) -> Section | None:
    """The replay; None where no trace was given."""
    data = numbers.data.get("traffic")
    if not data:
        return None
    requests = numbers.show("traffic.trace.n_requests", "count")
    gpus, gpu = numbers.show("traffic.n_gpus", "count"), quoted(numbers, "traffic.gpu")
    of = (requests, " requests of ", quoted(numbers, "traffic.trace.path"))
    model, scaling = quoted(numbers, "traffic.model"), quoted(numbers, "traffic.scaling")
    duration = numbers.show("traffic.trace.duration_seconds", "seconds")
    n_rejected = numbers.show("traffic.trace.n_rejected", "count")
    predicted = next((i for i, run in enumerate(data["runs"]) if run["prediction"]), None)
    rejected = (
        (" ", n_rejected, " rows of the trace are not requests and were left out.")
        if data["trace"]["n_rejected"]
        else ""
    )
    covered = (
        ""
        if predicted is None
        else (
            " The prediction from history was long enough for ",
            numbers.show(f"traffic.runs[{predicted}].prediction.covered_share", "share"),
            " of the answers.",
        )
    )
    # The last one is of a cache of prefixes.
    columns = columns_of("traffic")[: None if data["prefix_cache"] else -1]
    rows = []
    for index, run in enumerate(data["runs"]):
        path = f"traffic.runs[{index}]"
        name = (quoted(numbers, f"{path}.tokenizer"), Only("tw", f", {run['policy']}"))
        policy = (
            Only(MARKDOWN, run["policy"]),
            Only(PAGE, _POLICIES.get(run["policy"], run["policy"])),
        )
        # Times and rates rest on the roofline's assumed shares.
        rows.append(TableRow(name, (policy, *measured(numbers, path, columns, basis="estimated"))))
    table = Table(
        "Your traffic with each tokenizer and policy",
        ("Tokenizer", Only("tw", ", policy")),
        (words_column("Policy", forms=PAPER), *columns),
        tuple(rows),
        forms=ALL,
        heading=("Real traffic  ", requests, " requests on ", gpus, " x ", gpu),
        label="Replays of the trace",
        has_meanings=True,
    )
    intro = (
        *of,
        ", over ",
        duration,
        ", replayed on ",
        gpus,
        " \u00d7 ",
        gpu,
        " with ",
        model,
        ".",
    )
    said = (*of, " on ", gpus, " x ", gpu, " with ", model, "; ", scaling, ".")
    blocks = (
        Paragraph((*intro, rejected, covered), forms=PAGE),
        Charts(lambda: simulation_charts(numbers)),
        Fold(_TITLE, (Paragraph(said, forms=MARKDOWN), table), MARKDOWN),
        Paragraph(scaling, "where", PAGE),
    )
    return Section("traffic", _TITLE, "Traffic on the GPU", blocks)

# SPDX-License-Identifier: MIT
"""The one table that all benches print: what, ours, the alternative, ratio, bar, met or missed."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def row(
    what: str,
    unit: str,
    ours: float,
    alternative: tuple[str, float] | None = None,
    *,
    at_most: float | None = None,
    at_most_times: float | None = None,
    faster_by: float | None = None,
) -> Row:
    """Return a row of the table; of the three bars at most one.

    Parameters
    ----------
    what, unit, ours
        What was measured, in which unit, and the figure.
    alternative
        What it is measured against, and the figure of that.
    at_most
        The bar for `ours` alone.
    at_most_times
        The bar for ours / alternative.
    faster_by
        The bar for alternative / ours.
    """
    ratio = None if alternative is None or not alternative[1] else ours / alternative[1]
    bar, met = "", None
    if at_most is not None:
        bar, met = f"at most {at_most:g} {unit}", ours <= at_most
    elif ratio is not None and at_most_times is not None:
        bar, met = f"at most {at_most_times:g} x", ratio <= at_most_times
    elif ratio is not None and faster_by is not None:
        bar, met = f"at least {faster_by:g} x less", ratio <= 1 / faster_by
    return {
        "what": what,
        "unit": unit,
        "ours": ours,
        "alternative": None if alternative is None else alternative[1],
        "alternative_is": None if alternative is None else alternative[0],
        "ratio": ratio,
        "bar": bar,
        "met": met,
    }


def show(rows: list[Row]) -> None:
    """Print rows as a table."""
    cells = [["what", "ours", "alternative", "", "ratio", "bar", ""], *map(_cells, rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    for line in cells:
        padded = [
            cell.rjust(width) if i in (1, 2, 4) else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


def _cells(line: Row) -> list[str]:
    verdict = {True: "met", False: "MISSED", None: ""}[line["met"]]
    alternative = "" if line["alternative"] is None else _number(line["alternative"])
    ratio = "" if line["ratio"] is None else f"{line['ratio']:.2f}"
    return [
        line["what"],
        f"{_number(line['ours'])} {line['unit']}",
        alternative,
        line["alternative_is"] or "",
        ratio,
        line["bar"],
        verdict,
    ]


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:,.0f}"

"""The report as one HTML page that needs no network: text, sortable tables, pictures that name what one points at."""

import textwrap
from importlib.resources import files

import numpy as np

from skrank import __version__
from skrank._commands import _choices, cluster, mixture
from skrank._commands._report_text import RANK_LEGEND, UNRANKED, write_quality
from skrank._commands._text import number, percent, preference
from skrank.linear_model._leaderboard import rank_text

MOST_ITEMS = 40
MOST_NAMED = 25  # cells with numbers
SIDE = 28
LONGEST, LINE = 22, 12
# Anchors of viridis, and of a diverging scale from red over white to blue.
PLACES = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
MAJORITIES = ("#b2182b", "#f4a582", "#f7f7f7", "#92c5de", "#2166ac")
MISSING = "#dddddd"


def check_html():
    """Raise, before anything is computed, unless a page can be made."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise ValueError("--html needs jinja2: pip install jinja2") from None


def write_html(path, figures):
    """Write the page."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    items = figures["consensus"]["items"] if figures["consensus"] else []
    n_places = _places_taken(items) if items else 1
    environment.filters |= {
        "number": number,
        "percent": percent,
        "ranks": lambda places: rank_text(*places),
        "parts": lambda shares: _parts(np.asarray(shares), n_places),
    }
    template = environment.from_string(files("skrank._commands").joinpath("templates/report.html").read_text("utf-8"))
    found = figures["rankings"]
    kinds = {
        "full: no ties, nothing missing": found["full"],
        "with ties": found["with_ties"],
        "with missing items": found["with_missing"],
        "uninformative: order no two items": found["uninformative"],
    }
    page = template.render(
        **{
            **figures,
            "mixture": _mixture(figures["mixture"]),
            "clusters": _clusters(figures["clusters"]),
            "kinds": [] if figures["choices"] else list(kinds.items()),
            "choices": _with_words(figures),
            "unranked_words": UNRANKED.get(figures["unranked"], ""),
            "legend": _legend(items, n_places),
            "heat": _heat(figures["majorities"]),
            "quality": write_quality(figures["consensus"]),
            "rank_legend": RANK_LEGEND,
            "version": __version__,
        }
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def _with_words(figures):
    choices = figures["choices"]
    if choices is None:
        return None
    words = {
        "size": _choices.size(figures),
        "lead": _choices.lead(choices),
        "legend": _choices.legend(choices),
    }
    return {**choices, **words}


# ---------------------------------------------------------------- places
def _places_taken(items):
    shares = np.array([one["place_shares"] for one in items])
    return int(np.flatnonzero(shares.max(axis=0) > 1e-12).max(initial=0)) + 1


def _parts(shares, n_places):
    """The parts of an item's bar: a share of 100 each, what it is not ranked by at the end."""
    shares = [*shares[:n_places], max(1 - shares.sum(), 0.0)]
    starts = np.cumsum([0, *shares[:-1]])
    colors = [*(_color(PLACES, place / max(n_places - 1, 1)) for place in range(n_places)), MISSING]
    labels = [*(f"place {place + 1}" for place in range(n_places)), "not ranked"]
    return [
        {"start": round(100 * start, 3), "width": round(100 * share, 3), "color": color, "label": label, "share": share}
        for start, share, color, label in zip(starts, shares, colors, labels, strict=True)
        if share > 1e-9
    ]


def _legend(items, n_places):
    shown = sorted({round(place) for place in np.linspace(0, n_places - 1, min(n_places, 8))})
    legend = [(_color(PLACES, place / max(n_places - 1, 1)), f"place {place + 1}") for place in shown]
    missing = any(sum(one["place_shares"]) < 1 - 1e-9 for one in items)
    return [*legend, *([(MISSING, "not ranked")] if missing else [])]


def _color(anchors, value):
    """The color at a value from 0 to 1 between anchors."""
    place = min(max(value, 0.0), 1.0) * (len(anchors) - 1)
    first = min(int(place), len(anchors) - 2)
    ends = [np.array([int(anchor[i : i + 2], 16) for i in (1, 3, 5)]) for anchor in anchors[first : first + 2]]
    mixed = ends[0] + (place - first) * (ends[1] - ends[0])
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


# ---------------------------------------------------------------- majorities
def _heat(majorities):
    if majorities is None:
        return None
    names = majorities["items"][:MOST_ITEMS]
    fractions = np.asarray(majorities["fractions"])
    wrapped = [_two_lines(f"{place}. {name}") for place, name in enumerate(names, 1)]
    left = 16 + 7 * max(len(line) for lines in wrapped for line in lines)
    top, n_items = 20, len(names)
    labels = [
        {"x": left - 8, "y": top + SIDE * (row + 0.5) + 4 + LINE * shift, "anchor": "end", "text": line}
        for row, lines in enumerate(wrapped)
        for line, shift in zip(lines, (0,) if len(lines) == 1 else (-0.5, 0.5), strict=True)
    ]
    labels += [
        {"x": left + SIDE * (column + 0.5), "y": top - 6, "anchor": "middle", "text": str(column + 1)}
        for column in range(n_items)
    ]
    cells = []
    for row, column in np.argwhere(~np.isnan(fractions[:n_items, :n_items]) & ~np.eye(n_items, dtype=bool)):
        share = fractions[row, column]
        cells.append(
            {
                "x": left + SIDE * int(column),
                "y": top + SIDE * int(row),
                "color": _color(MAJORITIES, share),
                "title": f"{percent(share)} prefer {names[row]} to {names[column]}",
                "text": f"{100 * share:.0f}" if n_items <= MOST_NAMED else "",
                "ink": "#ffffff" if abs(share - 0.5) > 0.33 else "#000000",
            }
        )
    size = SIDE * n_items
    return {"width": left + size + 8, "height": top + size + 8, "side": SIDE, "labels": labels, "cells": cells}


def _two_lines(name):
    """A name on one line if it is short, otherwise on two of like length."""
    width = LONGEST if len(name) <= LONGEST else max(LONGEST, len(name) // 2)
    while len(lines := textwrap.wrap(name, width)) > 2:
        width += 1
    return lines


# ---------------------------------------------------------------- groups
def _mixture(found):
    if found is None:
        return None
    return {
        "verdict": mixture.what_holds(found),
        "heads": ["share", "95 %", "dispersion", "stability", "came back"],
        "rows": [
            {
                "cells": [
                    percent(one["weight"]),
                    " to ".join(f"{100 * bound:.1f}" for bound in one["weight_interval"]),
                    f"{one['dispersion']:.2f}",
                    "-" if one["stability"] is None else f"{one['stability']:.2f}",
                    mixture.came_back(one, found["n_halves"]),
                ],
                "consensus": _preference(one, mixture.SURE),
            }
            for one in found["components"]
        ],
        "words": f"Each group is scattered around its own consensus. {mixture.LEGEND} {mixture.ORDER_LEGEND}",
    }


def _clusters(found):
    if found is None:
        return None
    return {
        "verdict": cluster.what_holds(found),
        "heads": ["share", "silhouette", "stability", "came back"],
        "rows": [
            {
                "cells": [
                    cluster.share_text(one),
                    f"{one['silhouette']:.2f}",
                    "-" if np.isnan(one["stability"]) else f"{one['stability']:.2f}",
                    f"{one['n_found']} of {found['n_halves']}",
                ],
                "consensus": _preference(one, cluster.SURE),
            }
            for one in found["clusters"]
        ],
        "words": cluster.LEGEND,
    }


def _preference(group, sure):
    """The consensus of a group, whole, with the orders that are sure."""
    names = group["consensus"]
    certain = np.asarray(group["order_agreement"]) >= sure
    return preference(names, certain, most=len(names), name_width=max(map(len, names)))

"""Orders of the same items side by side: a column of boxes for each order, and a line for each item."""

import numpy as np

from skrank.inspection._base import line_width, row_height, text_color, wrap_names

BOX = 0.68  # width of a box with an item's name, columns are 1 apart
HEAD = 1.3  # inches above the boxes
MARGIN = 0.4
MOST_BOLD = 25  # items whose lines are not too many to follow
LINE_WIDTHS = (16, 20, 24, 28, 34, 40)
ROW = 0.25  # inches


def layout(item_names, n_columns, n_rows):
    """Names broken into lines so that the figure's longer side is short, and its size in inches."""
    found = []
    for width in LINE_WIDTHS:
        names = wrap_names(item_names, width)
        column = max(0.075 * line_width(names) + 0.2, 0.9) / BOX
        size = max(MARGIN + column * n_columns, 3.0), HEAD + row_height(names, ROW, 0.155) * n_rows
        found.append((max(size), names, size))
    return min(found, key=lambda one: one[0])[1:]


def draw_columns(ax, places, names, colors, n_shown):
    """Boxes and lines of the items' places, (n_columns, n_items) from 0; returns the lines."""
    from matplotlib.patches import Rectangle

    columns = np.arange(len(places))
    width = 1.5 if n_shown <= MOST_BOLD else 0.6
    lines = [
        ax.plot(columns, one, color=color, linewidth=width, zorder=1)[0]
        for one, color in zip(places.T, colors, strict=True)
    ]
    style = {"ha": "center", "va": "center", "fontsize": "small", "linespacing": 1.0, "zorder": 3, "clip_on": True}
    for order, column in zip(places, columns, strict=True):
        for item in np.flatnonzero(order < n_shown):
            corner = column - BOX / 2, order[item] - 0.42
            ax.add_patch(Rectangle(corner, BOX, 0.84, color=colors[item], linewidth=0, zorder=2))
            ax.text(column, order[item], names[item], color=text_color(colors[item]), **style)
    ax.set_yticks(range(n_shown), range(1, n_shown + 1))
    ax.set_xlim(-BOX / 2 - 0.1, len(places) - 1 + BOX / 2 + 0.05)
    ax.set_ylim(n_shown - 0.5, -0.6)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize="small")
    ax.tick_params(axis="y", labelcolor="0.4")
    ax.spines[:].set_visible(False)
    return lines


def draw_shares(ax, shares, heads, intervals=None, colors="0.55", room=0.5):
    """A bar of each column's share above its boxes, with its interval where given, and a text above it."""
    columns = np.arange(len(shares))
    left = columns - BOX / 2
    bottom = ax.get_ylim()[0]
    place = -0.6 - room / 2
    ax.barh(np.full(len(columns), place), BOX, 0.6 * room, left, color="0.88", zorder=2)
    ax.barh(np.full(len(columns), place), BOX * np.asarray(shares), 0.6 * room, left, color=colors, zorder=2)
    if intervals is not None:
        low, high = np.asarray(intervals).T
        ends = np.clip([shares - low, high - shares], 0, None) * BOX
        style = {"fmt": "none", "ecolor": "black", "elinewidth": 1, "capsize": 2, "zorder": 4}
        ax.errorbar(left + BOX * np.asarray(shares), np.full(len(columns), place), xerr=ends, **style)
    ax.set_ylim(bottom, -0.6 - room)
    ax.set_xticks(columns, heads)


def draw_unsure(ax, unsure):
    """Bars beside neighbors whose order is not sure, (n_columns, n_rows - 1); returns them."""
    bars = []
    for column, place in np.argwhere(unsure):
        edge = column - BOX / 2 - 0.035
        bars += ax.plot([edge, edge], [place - 0.3, place + 1.3], color="black", linewidth=2.5, zorder=4)
    return bars

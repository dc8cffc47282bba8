"""Names beside the points of a map: where there is room, and where they cover nothing else."""

import numpy as np

from skrank.inspection._base import line_width, most_lines, wrap_names

MARKER_RADIUS = 2  # pixels
LEAST_SIDE, LARGEST_SIDE = 6.0, 14.0  # inches
DIRECTIONS = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
LEADER = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}  # from a far name


def _side(horizontal, vertical, distance):
    """Where a name goes."""
    return {
        "xytext": (horizontal * 4 * distance, vertical * (3 if horizontal else 4) * distance),
        "ha": {1: "left", 0: "center", -1: "right"}[horizontal],
        "va": {1: "bottom", 0: "center", -1: "top"}[vertical],
    }


NEAR = [_side(*direction, 1) for direction in DIRECTIONS]
FAR = [_side(*direction, distance) for distance in (3, 5, 8) for direction in DIRECTIONS]
ALONG_A_LINE = [{"xytext": (0, 5), "rotation": 90, "ha": "center", "va": "bottom"}]


def side_with_names(names):
    """Side of a square in inches in which names cover about an eighth of the area."""
    area = sum((0.055 * line_width([name]) + 0.1) * 0.12 * most_lines([name]) for name in wrap_names(names))
    return float(np.clip(np.sqrt(8 * area), LEAST_SIDE, LARGEST_SIDE))


def draw_names(ax, points, names, *, along_a_line=False, keep_all=False):
    """Names beside their points, each at the first of several places where it covers nothing else, or nowhere.

    A thin line joins a far name to its point. The axes must be of their final size. The label of the horizontal axis
    says how many names had room.
    """
    names = wrap_names(names)
    if not along_a_line:
        ax.margins(0.12)
    ax.figure.draw_without_rendering()  # settles where the axes are
    centers = ax.transData.transform(points)
    taken = np.hstack([centers - MARKER_RADIUS, centers + MARKER_RADIUS])
    inside = np.array(ax.get_window_extent().extents)
    style = {"textcoords": "offset points", "fontsize": "x-small"}
    for name, point in zip(names, points, strict=True):
        for side in ALONG_A_LINE if along_a_line else NEAR + FAR:
            text = ax.annotate(name, point, **style, **side)
            box = np.array(text.get_window_extent().extents)
            within = (box[:2] >= inside[:2]).all() and (box[2:] <= inside[2:]).all()
            if keep_all or (within and not _overlaps(box, taken)):
                taken = np.vstack([taken, box])
                if side in FAR:
                    text.remove()  # its extent would have contained the line
                    ax.annotate(name, point, arrowprops=LEADER, **style, **side)
                break
            text.remove()
    if len(ax.texts) < len(names):
        ax.set_xlabel(f"{ax.get_xlabel()}\n(room for {len(ax.texts)} of {len(names)} names)")


def _overlaps(box, others):
    """Whether a box (left, bottom, right, top) has an area in common with any other."""
    return bool(((box[:2] < others[:, 2:]) & (box[2:] > others[:, :2])).all(axis=1).any())

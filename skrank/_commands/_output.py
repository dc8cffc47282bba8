"""What a command found, as text, as JSON and as a picture."""

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank._commands import _arguments
from skrank._commands._text import one_line, paragraph, with_flags


@dataclass(frozen=True)
class Result:
    """What a command found.

    Attributes
    ----------
    figures : dict
        All of it, unrounded, with the items' names: what ``--json`` prints.
    write : callable
        ``write(figures)`` is the text.
    draw : callable
        ``draw()`` is a matplotlib figure; None where there is nothing to draw.
    code : int, default=0
        Exit code: 1 where some of the input was left out.
    """

    figures: dict
    write: Callable[[dict], str]
    draw: Callable[[], Any] | None
    code: int = 0


def add_arguments(parser, *, title=True):
    """The arguments that say what to do with the result; `title`: whether the picture's can be given."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--plot",
        metavar="OUT.png",
        help="draw the result into this file; its extension determines the format (png, pdf, svg)",
    )
    if title:
        group.add_argument("--title", dest="plot_title", metavar="TEXT", help="title of the picture")
    parser.set_defaults(plot_title=None)
    group.add_argument("--dpi", type=_arguments.positive, default=150, metavar="N", help="dots per inch (default: 150)")
    group.add_argument(
        "--size",
        type=_arguments.size,
        metavar="WxH",
        help="size of the picture in inches, such as 6x4 (default: by content)",
    )
    group.add_argument(
        "--json", action="store_true", help="print one JSON object with unrounded figures instead of text"
    )


def notes(caught):
    """What the library warned of, each once; of deprecations no user needs to know."""
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return [one_line(message) for message in dict.fromkeys(messages)]


def as_text(figures, write):
    """The text of the figures, with its notes."""
    text = write(figures)
    if figures.get("columns"):
        title, underline, rest = text.split("\n", 2)
        text = "\n".join([title, underline, paragraph(f"Columns: {figures['columns']}."), "", rest])
    return "\n\n".join([text, *(paragraph(f"Note: {with_flags(note)}") for note in figures["notes"])])


def as_json(figures):
    """The figures as a JSON object; numbers that are none are null."""
    return json.dumps(_plain(figures), indent=2, allow_nan=False)


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# ---------------------------------------------------------------- pictures
def check_plot(path):
    """Raise, before anything is computed, unless a picture can be drawn into a file of this name."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install matplotlib") from None
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    formats = FigureCanvasBase.get_supported_filetypes()
    if ending not in formats:
        raise ValueError(f"--plot {path}: the ending must name a format, one of {', '.join(sorted(formats))}.")
    check_writable(path, "--plot")


def add_groups_argument(parser):
    """The argument that names a file for each row's group."""
    parser.add_argument(
        "--output", metavar="GROUPS.csv", help="write each row of the input, with all its columns and its group"
    )


def check_writable(path, option):
    """Raise, before anything is computed, unless a file of this name can be written."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise ValueError(f"{option} {path}: there is no directory {directory!r}.")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else directory, os.W_OK):
        raise ValueError(f"{option} {path}: this file cannot be written.")


def save_plot(result, path, *, title=None, dpi=150, size=None):
    """Draw the result into a file; no window is opened."""
    import matplotlib
    import matplotlib.pyplot as plt

    from skrank.inspection._base import wrap_title

    with matplotlib.rc_context(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matplotlib.use("agg")
        figure = result.draw()
        try:
            if size is not None:
                figure.set_size_inches(size)
            if title is not None:
                figure.suptitle(wrap_title(title, figure))
            figure.savefig(path, dpi=dpi)
        except RuntimeError as error:  # pgf without a TeX, say
            raise ValueError(f"--plot {path}: {error}") from None
        finally:
            plt.close(figure)
    messages = notes(caught)
    told = [message for message in messages if not message.startswith("Glyph ")]
    if len(told) < len(messages):
        told.append(f"{path}: the font lacks {len(messages) - len(told)} of the letters, which are shown as boxes.")
    result.figures["notes"] += told

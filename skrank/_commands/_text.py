"""Plain text for terminals of 104 columns: headings, paragraphs and tables."""

import textwrap

WIDTH = 104


def heading(title, underline="-"):
    """A title and the line under it."""
    return f"{title}\n{underline * len(title)}"


def paragraph(text):
    """Text wrapped to the width."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False)


def shorten(text, width):
    """Text cut to a width, three dots at its end if something was cut."""
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def table(columns, rows, left=()):
    """Rows under column titles, all strings: numbers flush right, the columns numbered in `left` flush left."""
    cells = [list(columns), *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def percent(share, digits=1):
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"


def number(value):
    """A count or a sum of weights: whole numbers without decimals."""
    return f"{value:.0f}" if value == round(value) else f"{value:.4g}"

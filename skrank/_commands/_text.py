"""Plain text for terminals of 104 columns: headings, paragraphs and tables."""

import textwrap

WIDTH = 104
# What the library calls its arguments, and what the commands do.
FLAGS = {
    "unranked='last'": "--unranked last",
    "unranked='missing'": "--unranked missing",
    'n_components="auto"': "-k auto",
    "max_components=": "--max-components ",
    "max_components": "--max-components",
    'criterion="stability"': "stability",
}


def heading(title, underline="-"):
    """A title and the line under it."""
    return f"{title}\n{underline * len(title)}"


def paragraph(text):
    """Text wrapped to the width."""
    return textwrap.fill(one_line(text), WIDTH, break_long_words=False)


def one_line(text):
    """Text without line breaks."""
    return " ".join(text.split())


def with_flags(text):
    """A message of the library in the words of the command line."""
    for argument, flag in FLAGS.items():
        text = text.replace(argument, flag)
    return text


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


def count(value, noun):
    """A number of things: 1 ballot, 2 ballots, 3 queries."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number(value)} {noun if value == 1 else plural}"


def preference(names, certain, most=15, name_width=28):
    """Names, best first, joined by > where the order is certain and by ~ where it is not; the last ones only counted.

    `certain` has an entry for each two neighbors.
    """
    text = shorten(names[0], name_width)
    for name, sure in list(zip(names[1:], certain, strict=True))[: most - 1]:
        text += f" {'>' if sure else '~'} {shorten(name, name_width)}"
    return text + (f" ... ({len(names) - most} more)" if len(names) > most else "")


def hanging(label, text):
    """A label and a wrapped text beside it."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )

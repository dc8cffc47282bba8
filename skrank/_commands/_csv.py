"""Cells of the text files that commands other than those of rankings read."""

from skrank.datasets._tables._cells import read_grid


def read_cells(content, path):
    """Rows of cells without the space around them, and the line that each row ends in."""
    grid = read_grid(content, path)
    return grid.rows, grid.lines

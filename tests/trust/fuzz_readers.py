"""Damage real files at random and read them: the data that they hold, or an error that names the line.

python tests/trust/fuzz_readers.py --data FOLDER [--tries 100] [--largest 200] [--seed 0]

Every PrefLib, SUSHI (.order) and CSV file under the folder of at most so many kilobytes is damaged so many times. What
is read is compared with a slow reader by definition (tests/trust/mutations.py).
"""

import argparse
import re
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import mutations
import numpy as np

from skrank._commands._input import add_arguments, read_rankings
from skrank.datasets import load_preflib, load_sushi_order

PREFLIB = (".soc", ".soi", ".toc", ".toi", ".cat")


def read(path):
    """The rank matrix and weights that skrank reads."""
    if path.suffix in PREFLIB:
        found = load_preflib(path, unranked="missing")
        return found.data, found.sample_weight
    if path.suffix == ".order":
        found = load_sushi_order(path, unranked="missing")
        return found.data, found.sample_weight
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    found = read_rankings(str(path), parser.parse_args(["--unranked", "missing", "--ranks"]))
    return found.ranks, found.weights


def by_definition(suffix, content):
    """The same by the slow reader."""
    if suffix in PREFLIB:
        names, orders = mutations.preflib_by_definition(content)
        return mutations.matrix_of(orders, len(names))
    if suffix == ".order":
        matrix = mutations.sushi_by_definition(content)
        return matrix, np.ones(len(matrix))
    rows = mutations.cells_by_definition(content)[1:]
    gaps = {"": np.nan, "NA": np.nan, "NaN": np.nan, "nan": np.nan}
    values = np.array([[gaps[cell] if cell in gaps else float(cell) for cell in row] for row in rows])
    levels = [np.unique(row[~np.isnan(row)]) for row in values]
    ranks = [
        np.where(np.isnan(row), np.nan, np.searchsorted(level, row)) for row, level in zip(values, levels, strict=True)
    ]
    return np.array(ranks), np.ones(len(rows))


def outcome(path):
    """What reading a damaged file came to: "read", "refused" or what is wrong."""
    try:
        ranks, weights = read(path)
    except ValueError as error:
        return "refused" if re.match(rf"{re.escape(str(path))}, line [1-9][0-9]*: ", str(error)) else f"error: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    expected = by_definition(path.suffix, path.read_bytes())
    if all(np.array_equal(*pair, equal_nan=True) for pair in zip((ranks, weights), expected, strict=True)):
        return "read"
    return "wrong data"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--largest", type=float, default=200, help="kilobytes")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    files = [
        path
        for path in sorted(arguments.data.rglob("*"))
        if path.suffix in (*PREFLIB, ".order", ".csv") and path.stat().st_size <= 1000 * arguments.largest
    ]
    counts, slowest, most_memory = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            content, target = path.read_bytes(), Path(folder) / f"damaged{path.suffix}"
            tally = counts.setdefault(path.suffix, Counter())
            tally["files"] += 1
            for number in range(arguments.tries):
                damaged = mutations.damaged_file(content, rng)
                target.write_bytes(damaged)
                if number == 0:
                    tracemalloc.start()
                start = time.perf_counter()
                result = outcome(target)
                if number == 0:
                    peak = tracemalloc.get_traced_memory()[1] / max(len(damaged), 2**16)
                    most_memory[path.suffix] = max(most_memory.get(path.suffix, 0), peak)
                    tracemalloc.stop()
                else:
                    slowest[path.suffix] = max(slowest.get(path.suffix, 0), time.perf_counter() - start)
                tally[result if result in ("read", "refused") else "faults"] += 1
                if result not in ("read", "refused"):
                    print(f"{path.name}, try {number}: {result[:300]}", flush=True)
    print("kind    files   tries    read  refused  faults  slowest (s)  peak memory / file size (64 KB or more)")
    for suffix, tally in counts.items():
        tries = tally["read"] + tally["refused"] + tally["faults"]
        print(
            f"{suffix:7} {tally['files']:5} {tries:7} {tally['read']:7} {tally['refused']:8} {tally['faults']:7}"
            f"  {slowest.get(suffix, 0):11.2f}  {most_memory[suffix]:9.0f}"
        )


if __name__ == "__main__":
    main()

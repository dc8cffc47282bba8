"""Load every PrefLib file under a folder and compare what it holds with its header.

python benchmarks/preflib_files.py --data FOLDER
"""

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np

from skrank.datasets import load_preflib

ENDINGS = re.compile(r"\.(soc|soi|toc|toi|cat)(\.gz)?$")


def describe(path):
    """One row of the table: what the file holds, and whether its own header agrees."""
    start = time.perf_counter()
    dataset = load_preflib(path, unranked="missing")
    seconds = time.perf_counter() - start
    ranks, header = dataset.data, dataset.metadata
    orders = header.get("number_unique_orders", header.get("number_unique_preferences"))
    agrees = (
        len(ranks) == orders
        and dataset.sample_weight.sum() == header["number_voters"]
        and ranks.shape[1] == len(dataset.item_names) == header["number_alternatives"]
    )
    missing = np.isnan(ranks)
    tied = sum(len(set(row[~gaps])) < (~gaps).sum() for row, gaps in zip(ranks, missing, strict=True))
    size = f"{path.stat().st_size / 1024:9.1f}"
    counts = f"{len(ranks):8d} {dataset.sample_weight.sum():8d} {ranks.shape[1]:6d} {tied:7d} {missing.any(1).sum():7d}"
    return agrees, f"{path.name:24s} {size} {counts} {1e3 * seconds:8.1f}  {'yes' if agrees else 'NO'}"


def main():
    """Print the table; the exit code says whether all files agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that is searched for PrefLib files")
    files = sorted(path for path in parser.parse_args().data.rglob("*") if ENDINGS.search(path.name))
    print(
        f"{'file':24s} {'KiB':>9s} {'distinct':>8s} {'voters':>8s} {'items':>6s} {'tied':>7s} {'gaps':>7s} {'ms':>8s}"
        "  agrees"
    )
    wrong = 0
    for path in files:
        agrees, row = describe(path)
        wrong += not agrees
        print(row)
    print(f"{len(files)} files, {len(files) - wrong} agree with their headers, {wrong} do not")
    return bool(wrong or not files)


if __name__ == "__main__":
    sys.exit(main())

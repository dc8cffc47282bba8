"""Rank matrices at the edge, ways to write the same one down, and ways to hand it over."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

NAN = np.nan
PHIS = (0.0, 1e-12, 0.3, 1 - 1e-12, 1.0)
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def rank_matrices(draw, *, kind="any", max_items=200, max_rows=12, min_items=1, min_rows=1):
    """Densified rank matrices, as floats: kind "full", "ties" (no gaps) or "any".

    A few numbers say all, so that a failing example is one of few items and rows.
    """
    n_items = draw(st.sampled_from([n for n in (1, 2, 3, 4, 5, 8, 30, 200) if min_items <= n <= max_items]))
    n_rows = draw(st.sampled_from([n for n in (1, 2, 3, 7, max_rows) if n >= min_rows]))
    n_levels = draw(st.sampled_from([1, 2, 3, 6])) if kind != "full" and draw(st.booleans()) else None
    missing_rate = draw(st.sampled_from([0.0, 0.3, 0.9, 1.0])) if kind == "any" else 0.0
    repeated = draw(st.booleans())
    rng = np.random.default_rng(draw(SEEDS))
    X = rng.permuted(np.tile(np.arange(float(n_items)), (n_rows, 1)), axis=1)
    if n_levels is not None:
        X = np.floor(X * (min(n_levels, n_items) / n_items))
    X[rng.random(X.shape) < missing_rate] = NAN
    if repeated:
        X = X[rng.integers(n_rows, size=n_rows)]
    return X


def _extreme(n, rng):
    extremes = [-np.finfo(float).max, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1 + 2**-52, 1e300, np.finfo(float).max]
    return np.concatenate([extremes, rng.standard_normal(n) * 10.0 ** rng.uniform(-300, 300, n)])


def _huge_integers(n, rng):
    return 2**62 + rng.permutation(np.arange(2 * n))


LEVELS = {
    "extreme": _extreme,
    "huge integers": _huge_integers,
    "close": lambda n, rng: 1 + np.arange(2 * n) * 2.0**-52,
    "float32": lambda n, rng: rng.permutation(np.arange(2 * n)).astype(np.float32),
    "negative integers": lambda n, rng: rng.permutation(np.arange(-3 * n, 0)).astype(np.int16),
}


def rewritten(X, how, rng):
    """The same rankings in other numbers: a strictly increasing function of each row."""
    n_items = X.shape[1]
    missing = np.isnan(X)
    dtype = LEVELS[how](n_items, rng).dtype
    if missing.any() and dtype.kind != "f":
        how, dtype = "extreme", np.dtype(float)
    Y = np.zeros(X.shape, dtype)
    for row in range(len(X)):
        levels, present = np.unique(LEVELS[how](n_items, rng)), ~missing[row]
        chosen = np.sort(rng.choice(len(levels), n_items, replace=False))
        Y[row, present] = levels[chosen][X[row, present].astype(int)]
    if missing.any():
        Y[missing] = NAN
    return Y


def _read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def _memory_mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


HANDED_OVER = {
    "list": lambda X, folder: X.tolist(),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "every other cell": lambda X, folder: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "from the end": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "memory-mapped": _memory_mapped,
    "float32": lambda X, folder: X.astype(np.float32),
    "foreign byte order": lambda X, folder: X.astype(">f8"),
    "objects": lambda X, folder: np.where(np.isnan(X), None, X),
    "masked": lambda X, folder: np.ma.array(np.nan_to_num(X, nan=7), mask=np.isnan(X)),
    "DataFrame": lambda X, folder: pd.DataFrame(X),
    "nullable DataFrame": lambda X, folder: pd.DataFrame(X).astype("Float64"),
}

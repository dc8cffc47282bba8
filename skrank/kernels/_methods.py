"""How the mean over consistent rankings is taken: a closed form, or which kind of samples."""

import numpy as np

from skrank.kernels._base import inexact_rows


def choose_method(kernel, ranks, method, prior):
    """The method that `method` means for these training rankings.

    Parameters
    ----------
    kernel : RankingKernel
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    method : {"auto", "exact", "antithetic", "monte_carlo", "herding"}
    prior : distribution or None

    Returns
    -------
    method : {"exact", "antithetic", "monte_carlo", "herding"}
    """
    if method == "exact":
        if prior is not None:
            raise ValueError("method='exact' has no closed form under a prior. Use method='antithetic' or 'auto'.")
        check_exact(kernel, ranks, "X")
    if method != "auto":
        return method
    if prior is None and not inexact_rows(ranks, kernel.exact_on)[0].any():
        return "exact"
    return "antithetic" if kernel._metric == "kendall" else "monte_carlo"


def check_exact(kernel, ranks, input_name):
    """Raise on a ranking without a closed form, where closed forms are used."""
    rows, trouble = inexact_rows(ranks, kernel.exact_on)
    if rows.any():
        raise ValueError(
            f"Row {int(np.argmax(rows))} of {input_name} {trouble}, for which the kernel has no closed form, but "
            "method='exact' was asked for, or chosen because all training rankings have one. Exact and sampled values "
            "must not be mixed in one matrix: fit with method='antithetic' (or 'monte_carlo')."
        )

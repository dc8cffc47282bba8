"""The report's section on a label: do its classes rank differently, and can a person's class be predicted?

Two questions with two answers. A permutation test of the rankings and labels tells whether classes differ at all, at
its nominal level; a prediction can be no better than guessing and the classes differ all the same.
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skrank._commands._differences import label_test
from skrank._commands._text import heading, number, paragraph, percent, table
from skrank.inspection._base import representative_rows
from skrank.kernels import PartialRankingKernel

SAMPLE = 2000
MOST_CLASSES = 20
N_SPLITS = 5
N_PERMUTATIONS = 999
ALPHA = 0.05
KERNELS = ("kendall", "mallows")
# One-sided, for the better of two kernels: 2.5 % in all.
NOTABLE = 2.24


# ---------------------------------------------------------------- figures
def describe(rankings):
    """The figures of the section."""
    rows, sampled = _people(rankings)
    X, y, weights = rankings.ranks[rows], rankings.labels[rows], _weights(rankings, rows)
    classes, codes = np.unique(y, return_inverse=True)
    shares = np.bincount(codes, weights) / weights.sum()
    common = y == classes[shares.argmax()]
    folds = list(StratifiedKFold(N_SPLITS, shuffle=True, random_state=0).split(X, y))
    models = []
    for kernel in KERNELS:
        right = _predicted(kernel, X, y, weights, folds) == y
        accuracy, error = _mean_and_error(right, weights)
        gain, gain_error = _mean_and_error(right.astype(float) - common, weights)
        models.append(
            {
                "kernel": kernel,
                "accuracy": accuracy,
                "standard_error": error,
                "gain": gain,
                "gain_standard_error": gain_error,
            }
        )
    return {
        "n_rankings": rankings.weights.sum(),
        "n_samples": len(y),
        "sampled": sampled,
        "n_splits": N_SPLITS,
        "classes": [{"label": label, "share": share} for label, share in zip(classes, shares, strict=True)],
        "pvalue": _pvalue(X, y, weights),
        "n_permutations": N_PERMUTATIONS,
        "baseline": shares.max(),
        "models": models,
    }


def _pvalue(X, y, weights):
    """p-value that rankings do not depend on the label; classes of one person left out."""
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts > 1])
    gram = PartialRankingKernel("mallows", random_state=0).fit_transform(X[kept])
    return label_test(gram, y[kept], N_PERMUTATIONS, np.random.default_rng(0), weights[kept]).pvalue


def _predicted(kernel, X, y, weights, folds):
    """The label of each ranking, predicted by a support vector machine that was fitted to other folds."""
    pipeline = make_pipeline(PartialRankingKernel(kernel, random_state=0), SVC(kernel="precomputed"))
    predicted = np.empty_like(y)
    for train, test in folds:
        model = clone(pipeline).fit(X[train], y[train], svc__sample_weight=weights[train])
        predicted[test] = model.predict(X[test])
    return predicted


def _mean_and_error(values, weights):
    mean = np.average(values, weights=weights)
    return mean, np.sqrt(weights**2 @ (values - mean) ** 2) / weights.sum()


# ---------------------------------------------------------------- people
def check(rankings):
    """Raise, before anything is computed, unless there is something to predict."""
    times = rankings.weights if rankings.are_counts else (rankings.weights > 0).astype(float)
    seen = times > 0
    classes, codes = np.unique(rankings.labels[seen], return_inverse=True)
    counts = np.bincount(codes, times[seen])
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise ValueError(f"the label has {len(classes)} distinct values; 2 to {MOST_CLASSES} classes can be predicted.")
    if counts.min() < N_SPLITS:
        rarest = str(classes[counts.argmin()])
        raise ValueError(f"the label {rarest!r} occurs {counts.min():.0f} times: cross-validation needs {N_SPLITS}.")
    in_sample = np.unique(rankings.labels[_people(rankings)[0]], return_counts=True)[1]
    if np.count_nonzero(in_sample >= N_SPLITS) < 2:
        raise ValueError(
            f"one label is nearly all: no other occurs {N_SPLITS} times in a random sample of {SAMPLE}, which "
            "cross-validation needs."
        )


def _people(rankings):
    """A row number for each person, or for those of a random sample; nobody twice."""
    if rankings.are_counts:
        return representative_rows(rankings.weights, SAMPLE)
    people = np.flatnonzero(rankings.weights)
    if len(people) <= SAMPLE:
        return people, False
    return np.sort(np.random.default_rng(0).choice(people, SAMPLE, replace=False)), True


def _weights(rankings, rows):
    return np.ones(len(rows)) if rankings.are_counts else rankings.weights[rows]


# ---------------------------------------------------------------- text
def write(found):
    """The section as text."""
    shares = ", ".join(f"{one['label']}: {percent(one['share'])}" for one in found["classes"])
    sample = f" They are a random sample of {number(found['n_rankings'])} rankings." if found["sampled"] else ""
    differ = found["pvalue"] <= ALPHA
    verdict = (
        f"They do (p = {found['pvalue']:.3f}): the groups differ more than expected by chance."
        if differ
        else f"There is no evidence that they do (p = {found['pvalue']:.3f})."
    )
    rows = [["always the most common label", f"{found['baseline']:.3f}", "", ""]]
    rows += [
        [
            f"SVC, {one['kernel'].capitalize()} kernel",
            f"{one['accuracy']:.3f}",
            f"{one['gain']:+.3f}",
            f"{one['gain_standard_error']:.3f}",
        ]
        for one in found["models"]
    ]
    best = max(found["models"], key=_in_errors)
    predicts = (
        f"A person's label can be predicted from the ranking: {percent(best['accuracy'])} of predictions are right, "
        f"compared with {percent(found['baseline'])} when always guessing the most common label."
        if _in_errors(best) >= NOTABLE
        else "Predictions of a person's label from the ranking are no better than guessing the most common label."
    )
    return "\n".join(
        [
            heading("Do people with different labels rank differently?"),
            paragraph(
                f"{found['n_samples']} labeled rankings ({shares}).{sample} {verdict} Permutation test of the maximum "
                f"mean discrepancy, {found['n_permutations']} permutations."
            ),
            "",
            table(["", "accuracy", "gain", "error"], rows, left=[0]),
            "",
            paragraph(
                f"{predicts} Accuracies are from {found['n_splits']}-fold cross-validation of support vector machines "
                "(C = 1) with PartialRankingKernel. Gain: over always guessing, with its standard error."
            ),
        ]
    )


def _in_errors(model):
    return model["gain"] / model["gain_standard_error"] if model["gain_standard_error"] > 0 else 0.0

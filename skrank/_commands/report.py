"""`skrank report`: what an analyst wants to know first about a set of rankings."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from skrank._commands import _choices, _files, _html, _input, _label, _report_text, cluster, mixture
from skrank._commands._output import Result, check_writable
from skrank._commands._text import number
from skrank._rankings import (
    MISSING,
    aggregate,
    check_rankings,
    mean_places,
    n_buckets,
    n_ranked,
    rows_with_ties,
    to_rank_matrix,
)
from skrank.inspection import PairwisePreferenceDisplay, RankDistributionDisplay
from skrank.inspection._base import line_width, row_height, wrap_names, wrap_title
from skrank.inspection._rank_distribution import place_shares
from skrank.stats import borda_consensus, kemeny_consensus, pairwise_majority

HELP = (
    "Describe a set of rankings: ties, missing items, consensus, majorities, clusters, groups, what predicts a label."
)
EPILOG = """\
examples:
  {prog}                                       the ballots of the APA
  {prog} votes.soi --unranked last             a PrefLib file; what is not ranked is worse
  {prog} votes.csv --count n                   a column says how many voters cast each row
  {prog} survey.csv --items 'Q5_*' --weight w  survey weights; only these columns are items
  {prog} survey.csv --output tables            the tables as CSV files in a directory
  {prog} survey.csv --html report.html         a page to send to a colleague
  {prog} choices.csv --orderings --unranked missing
  {prog} ratings.csv --scores --label sex --ignore id name
  {prog} votes.soi --unranked last --plot votes.png --json > votes.json

--json prints an object with: title, columns, unranked, n_rankings, n_distinct, n_items, items,
  rankings: full, with_ties, with_missing, uninformative (numbers of rankings), n_ranked (pairs of a number of items and
    how many rankings rank so many),
  choices (null for rankings; for ballots that name or approve of items, or two candidates, and then consensus,
    majorities, clusters and mixture are null): kind (one choice, approval, two candidates), n_ballots (that tell items
    apart), n_uninformative, items (by share, each with item, n_ballots, share, interval of 95 %, rank_set), n_chosen
    (pairs of a number of items and the ballots that name so many), together (share of the approvers of the row's item
    that approve of the column's, null if not approval), lead (items, n_only: the ballots that name just
    the one, pvalue),
  consensus: agreement (share of all strict preferences that it agrees with), is_exact, and items, best first, each with
    item, mean_place (1 is the first), first_share, ranked_share, net_wins, place_shares (of each place, in order),
    rank_set (the first and the last place that an item may have in the consensus, by 200 redraws, 90 % confidence),
  majorities (null for one item): items, fractions (share that prefers the row's item to the column's, among those that
    order the two), condorcet_winner, cycles,
  clusters, mixture (null if there is too little): as the subcommands cluster and mixture print them,
  prediction (null without --label): n_rankings (with a label), n_samples, sampled (whether they are a random
    sample), n_splits, classes (with label and share), pvalue (of rankings that do not depend on the label),
    n_permutations, baseline, and models, each with kernel, accuracy, standard_error, gain (over the
    baseline), gain_standard_error,
  notes."""

N_REDRAWS, CONFIDENCE = 200, 0.9
PLOTTED_ITEMS = 60


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_file_argument(parser)
    parser.add_argument("--output", metavar="DIR", help="write the tables of the report as CSV files to this directory")
    parser.add_argument(
        "--html", metavar="PAGE.html", help="write the report as a single HTML page that needs no network"
    )
    _input.add_arguments(parser, label=True)


def run(arguments):
    """The report on the file's rankings."""
    if arguments.html:
        _html.check_html()
        check_writable(arguments.html, "--html")
    rankings = _input.read_rankings(arguments.file, arguments)
    left_out = []
    if rankings.labels is not None:
        left_out = _input.left_out_notes(rankings, arguments.label, "--label")
        _label.check(_input.with_labels(rankings))
    table = aggregate(check_rankings(rankings.ranks), rankings.weights)
    distinct = rankings._replace(ranks=to_rank_matrix(table.ranks), weights=table.weights, labels=None)
    figures = {
        "title": rankings.title,
        "columns": rankings.description,
        "unranked": rankings.unranked,
        "n_rankings": table.weights.sum(),
        "n_distinct": len(table.weights),
        "n_items": len(rankings.item_names),
        "items": rankings.item_names,
        **_sections(rankings, distinct),
        "notes": left_out,
    }
    if arguments.output:
        written = ", ".join(_files.write_report(arguments.output, figures))
        figures["notes"].append(f"The tables are in {arguments.output}: {written}.")
    if arguments.html:
        _html.write_html(arguments.html, figures)
        figures["notes"].append(f"The page is {arguments.html}.")
    return Result(figures, _report_text.write, lambda: _draw(figures))


def _sections(rankings, distinct):
    """The figures of all sections, None where they mean nothing for such ballots."""
    choices = _choices.describe(rankings)
    kept = ("rankings", "prediction") if choices is not None else SECTIONS
    found = {name: section(rankings, distinct) if name in kept else None for name, section in SECTIONS.items()}
    return {"choices": choices, **found}


# ---------------------------------------------------------------- sections: (all rankings, distinct ones) -> figures
def kinds(rankings, distinct):
    """How many rankings have ties and missing items."""
    ranks, weights = check_rankings(distinct.ranks), distinct.weights
    counted = n_ranked(ranks)
    tied, missing = rows_with_ties(ranks), counted < ranks.shape[1]
    return {
        "full": weights[~tied & ~missing].sum(),
        "with_ties": weights[tied].sum(),
        "with_missing": weights[missing].sum(),
        "uninformative": weights[n_buckets(ranks) < 2].sum() if ranks.shape[1] > 1 else 0,
        "n_ranked": [[int(m), weights[counted == m].sum()] for m in np.unique(counted)],
    }


def consensus(rankings, distinct):
    """The consensus ranking and the items in its order."""
    ranks, weights = check_rankings(distinct.ranks), distinct.weights
    total = weights.sum()
    kemeny = kemeny_consensus(
        rankings.ranks,
        sample_weight=rankings.weights,
        n_draws=N_REDRAWS,
        confidence_level=CONFIDENCE,
        random_state=0,
    )
    sets = kemeny.rank_sets
    assert sets is not None
    compared = pairwise_majority(distinct.ranks, sample_weight=weights).wins.sum()
    net_wins = borda_consensus(distinct.ranks, sample_weight=weights).scores / total
    ranked = weights @ (ranks != MISSING)
    mean_place = weights @ np.nan_to_num(mean_places(ranks) + 1) / np.maximum(ranked, np.finfo(float).tiny)
    first = weights @ (ranks == 0)
    shares = place_shares(ranks, weights)
    return {
        "agreement": 1 - kemeny.distance / compared if compared else 1.0,
        "is_exact": kemeny.is_exact,
        "items": [
            {
                "item": rankings.item_names[item],
                "mean_place": mean_place[item],
                "first_share": first[item] / total,
                "ranked_share": ranked[item] / total,
                "net_wins": net_wins[item],
                "place_shares": shares[item],
                "rank_set": [sets.low[item] + 1, sets.high[item] + 1],
            }
            for item in kemeny.ordering
        ],
    }


def majorities(rankings, distinct):
    """The pairwise majorities, and the Condorcet winner or the cycles."""
    if distinct.ranks.shape[1] < 2:
        return None
    order = kemeny_consensus(distinct.ranks, sample_weight=distinct.weights).ordering
    result = pairwise_majority(distinct.ranks, sample_weight=distinct.weights)
    winner = result.condorcet_winner
    return {
        "items": [rankings.item_names[item] for item in order],
        "fractions": result.fractions[np.ix_(order, order)],
        "condorcet_winner": None if winner is None else rankings.item_names[winner],
        "cycles": [[rankings.item_names[item] for item in members] for members in _cycles(result.majority, order)],
    }


def clusters(rankings, distinct):
    """Clusters of the rankings."""
    try:
        return cluster.describe(distinct, "auto")[0]
    except cluster.TooFewError:
        return None


def prediction(rankings, distinct):
    """Whether people with different labels rank differently, and how well a label is predicted."""
    return None if rankings.labels is None else _label.describe(_input.with_labels(rankings))


SECTIONS = {
    "rankings": kinds,
    "consensus": consensus,
    "majorities": majorities,
    "clusters": clusters,
    "mixture": mixture.section,
    "prediction": prediction,
}


# ---------------------------------------------------------------- parts
def _cycles(majority, order):
    """Sets of items that beat one another in circles by majority, each in the order given."""
    _, component = connected_components(majority, directed=True, connection="strong")
    sets = [[item for item in order if component[item] == number] for number in np.unique(component)]
    return [members for members in sets if len(members) > 1]


def _draw(figures):
    """The places that each item takes, and who beats whom; of choices, their shares."""
    if figures["choices"] is not None:
        return _choices.draw(figures)
    import matplotlib.pyplot as plt

    items = figures["consensus"]["items"]
    n_rows = min(len(items), PLOTTED_ITEMS)
    names = np.array([f"{place}. {one['item']}" for place, one in enumerate(items, 1)], dtype=object)
    wrapped = wrap_names(names[:n_rows])
    row = row_height(wrapped, 0.42 if n_rows <= 15 else 0.25)
    height = max(row * n_rows, 2.4)
    square = min(max(height, 0.42 * n_rows if n_rows <= 15 else 3.0, 3.0), 9.0)
    figure, (left, right) = plt.subplots(
        1,
        2,
        figsize=(8 + 0.075 * line_width(wrapped) + square, height + 1.6),
        width_ratios=[4.5, square],
        layout="constrained",
    )
    figure.set_layout_engine("constrained", wspace=0.08)  # keeps the labels between the two apart
    shares = np.array([one["place_shares"] for one in items])
    sets = np.array([one["rank_set"] for one in items])
    RankDistributionDisplay(shares, item_names=names, rank_sets=sets).plot(left, max_items=PLOTTED_ITEMS)
    if figures["majorities"] is None:
        right.set_axis_off()
    else:
        places = np.arange(1, len(items) + 1)
        display = PairwisePreferenceDisplay(figures["majorities"]["fractions"], item_names=places)
        display.plot(right, max_items=PLOTTED_ITEMS)
        right.set_aspect("auto")  # rows are those of the bars
        left.set_ylim(right.get_ylim())
    title = f"{figures['title']}: {number(figures['n_rankings'])} rankings"
    figure.suptitle(wrap_title(title, figure))
    return figure

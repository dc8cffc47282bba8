"""Structures, moments, Zagier's determinant and test functions of Liu and Moitra against enumeration."""

import itertools

import numpy as np
import pytest

from skrank._rankings import densify, pair_signs
from skrank.mixture._liu_moitra._blocks_and_orders import (
    block_orderings,
    block_probability,
    block_tensor,
    order_probability,
    ordered_block_probability,
    ordering_probabilities,
    pair_order_probability,
    restrict,
    satisfies_block_structure,
    satisfies_order_structure,
    satisfies_ordered_block_structure,
)
from skrank.mixture._liu_moitra._moments import low_order_moments, mallows_low_order_moments
from skrank.mixture._liu_moitra._test_functions import (
    block_test_function,
    isolating_blocks,
    isolating_vector,
    pair_annihilator,
    pair_probabilities,
    pair_tensor_of,
    pair_test_function,
    tensor_product,
)
from skrank.mixture._liu_moitra._zagier import (
    all_permutations,
    log_kruskal_bound,
    log_zagier_determinant,
    mallows_matrix,
)

RNG = np.random.default_rng(20)
CENTERS = [RNG.permutation(6) for _ in range(3)]
STRUCTURES = [
    [[0, 1]],
    [[2, 5], [0, 3]],
    [[4, 1, 2]],
    [[3, 0, 5], [1, 4]],
    [[2], [0, 1], [5]],
    [[0, 1, 2, 3, 4, 5]],
]


def mallows_pmf(ranks, center, dispersion):
    inverted = (pair_signs(ranks, dtype=float) != pair_signs(np.asarray(center)[None], dtype=float)).sum(axis=1)
    weights = np.power(float(dispersion), inverted)
    return weights / weights.sum()


def test_example_1_of_the_paper():
    # Orderings of items 1..7 in the paper, rank matrices of items 0..6 here.
    ranks = np.argsort(np.array([[1, 2, 3, 7, 6, 5, 4], [1, 3, 4, 2, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]]) - 1, axis=1)
    structure = [[0, 1], [3, 4, 5]]
    assert satisfies_block_structure(ranks, structure).tolist() == [True, False, True]
    assert satisfies_order_structure(ranks, structure).tolist() == [False, True, True]
    assert satisfies_ordered_block_structure(ranks, structure).tolist() == [False, False, True]


def by_definition(positions, blocks, kind):
    place = list(positions)
    consecutive = all(max(place[i] for i in b) - min(place[i] for i in b) == len(b) - 1 for b in blocks)
    in_order = all(max(place[i] for i in a) < min(place[i] for i in b) for a, b in itertools.pairwise(blocks))
    ordered = all(place[i] < place[j] for b in blocks for i, j in itertools.pairwise(b))
    return {"block": consecutive and in_order, "order": ordered}[kind]


@pytest.mark.parametrize("blocks", [[[0, 1]], [[2, 4], [0, 3]], [[3], [1, 2, 4]], [[1], [0]]])
def test_tied_rankings_satisfy_what_all_their_refinements_satisfy(blocks, consistent_rankings):
    tied = np.unique(densify(np.array(list(itertools.product(range(3), repeat=5)))), axis=0)
    for kind, satisfied in (
        ("block", satisfies_block_structure(tied, blocks)),
        ("order", satisfies_order_structure(tied, blocks)),
    ):
        expected = [all(by_definition(p, blocks, kind) for p in consistent_rankings(row)) for row in tied]
        assert satisfied.tolist() == expected
        assert satisfied.any()
        assert not satisfied.all() or (kind, blocks) == ("order", [[1], [0]])  # which asks for nothing


def test_restriction_keeps_the_order_and_the_ties():
    assert restrict(np.array([[3, 0, 2, 1], [0, 1, 1, 2]]), [0, 2, 3]).tolist() == [[2, 1, 0], [0, 1, 2]]


@pytest.mark.parametrize("dispersion", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("blocks", STRUCTURES)
def test_structure_probabilities_equal_enumeration(blocks, dispersion):
    ranks = all_permutations(6)
    for center in CENTERS:
        pmf = mallows_pmf(ranks, center, dispersion)
        for probability, satisfied in (
            (block_probability, satisfies_block_structure),
            (order_probability, satisfies_order_structure),
            (ordered_block_probability, satisfies_ordered_block_structure),
        ):
            assert probability(center, dispersion, blocks) == pytest.approx(
                pmf[satisfied(ranks, blocks)].sum(), abs=1e-14
            )


def test_order_structures_may_share_items():
    ranks = all_permutations(6)
    orders = [[0, 1, 2], [3, 1], [2, 5]]
    pmf = mallows_pmf(ranks, CENTERS[0], 0.6)
    expected = pmf[satisfies_order_structure(ranks, orders)].sum()
    assert order_probability(CENTERS[0], 0.6, orders) == pytest.approx(expected, rel=1e-12)


def test_too_many_groups_are_refused():
    with pytest.raises(ValueError, match="29 groups"):
        block_probability(np.arange(30), 0.5, [[0, 1]])


@pytest.mark.parametrize("blocks", STRUCTURES)
def test_block_tensor_equals_enumeration_and_has_rank_one(blocks):
    """Definition 7 and Corollary 2."""
    ranks = all_permutations(6)
    cell = block_orderings(ranks, blocks)
    for center in CENTERS:
        pmf = mallows_pmf(ranks, center, 0.4) * satisfies_block_structure(ranks, blocks)
        tensor = block_tensor(center, 0.4, blocks)
        assert tensor.ravel() == pytest.approx(np.bincount(cell, pmf, tensor.size), abs=1e-14)
        for axis in range(tensor.ndim):
            unfolded = np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1)
            assert np.linalg.matrix_rank(unfolded) == 1


def test_block_orderings_are_numbered_lexicographically():
    assert block_orderings(all_permutations(3), [[0, 1, 2]]).tolist() == [
        list(itertools.permutations(range(3))).index(tuple(np.argsort(p))) for p in all_permutations(3)
    ]
    assert block_orderings(
        np.array([[0, 1, 2, 3], [1, 0, 2, 3], [1, 0, 3, 2], [0, 0, 1, 2]]), [[0, 1], [2, 3]]
    ).tolist() == [
        0,
        2,
        3,
        -1,
    ]


def test_lemma_1_bounds_the_probability_of_a_structure_of_the_center():
    for dispersion in (0.2, 0.9, 1.0):
        assert block_probability(np.arange(6), dispersion, [[0, 1], [3, 4]]) >= 6.0**-8


@pytest.mark.parametrize("dispersion", [0.0, 0.35, 0.8, 1.0])
def test_pair_order_probability_equals_enumeration(dispersion):
    """The formula in the proof of Lemma 11; d counts both items."""
    ranks = all_permutations(6)
    pmf = mallows_pmf(ranks, np.arange(6), dispersion)
    spans = np.arange(2, 7)
    expected = [pmf[ranks[:, 0] < ranks[:, span - 1]].sum() for span in spans]
    assert pair_order_probability(spans, dispersion) == pytest.approx(expected, abs=1e-14)


# ---------------------------------------------------------------- low-order moments
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("dispersion", [0.0, 0.3, 1.0])
def test_moments_of_a_model_equal_enumeration(order, dispersion):
    """Definition 12, by the definition."""
    ranks = all_permutations(5)
    center = np.array([3, 0, 4, 1, 2])
    pmf = mallows_pmf(ranks, center, dispersion)
    moments = mallows_low_order_moments(center, dispersion, order)
    assert moments.shape == (len(list(itertools.combinations(range(5), order))), *(5,) * order)
    for row, items in zip(moments, itertools.combinations(range(5), order), strict=True):
        for places in itertools.product(range(5), repeat=order):
            event = (ranks[:, items] == places).all(axis=1)
            assert row[places] == pytest.approx(pmf[event].sum(), abs=1e-14)
    assert low_order_moments(ranks, 7 * pmf, order) == pytest.approx(moments, abs=1e-14)


def test_peeling_a_component_from_the_moments():
    """Corollary 4: moments are linear in the mixture, so a known component can be subtracted."""
    ranks = all_permutations(5)
    first, second = np.arange(5), np.array([4, 1, 3, 0, 2])
    pmf = 0.3 * mallows_pmf(ranks, first, 0.2) + 0.7 * mallows_pmf(ranks, second, 0.6)
    rest = low_order_moments(ranks, pmf, 2) - 0.3 * mallows_low_order_moments(first, 0.2, 2)
    assert rest == pytest.approx(0.7 * mallows_low_order_moments(second, 0.6, 2), abs=1e-14)


# ---------------------------------------------------------------- Zagier
@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
@pytest.mark.parametrize("dispersion", [0.1, 0.5, 0.8])
def test_zagier_determinant(n_items, dispersion):
    """Theorem 3.1 against LU decomposition."""
    sign, logdet = np.linalg.slogdet(mallows_matrix(n_items, dispersion))
    assert sign == 1
    assert logdet == pytest.approx(log_zagier_determinant(n_items, dispersion), rel=1e-9, abs=1e-12)


def test_zagier_determinant_of_three_items_by_hand():
    phi = 0.37
    expected = 6 * np.log1p(-(phi**2)) + np.log1p(-(phi**6))
    assert log_zagier_determinant(3, phi) == pytest.approx(expected, rel=1e-14)


def test_columns_of_the_normalized_matrix_are_mallows_models():
    matrix = mallows_matrix(4, 0.3, normalized=True)
    ranks = all_permutations(4)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(24))
    for column in (0, 5, 23):
        assert matrix[:, column] == pytest.approx(mallows_pmf(ranks, ranks[column], 0.3), rel=1e-12)


@pytest.mark.parametrize("dispersion", [0.2, 0.6, 0.9])
def test_lemma_3_bounds_the_orthogonal_part_of_a_column(dispersion):
    matrix = mallows_matrix(4, dispersion)
    rng = np.random.default_rng(5)
    for n_columns in (2, 3, 4):
        for _ in range(50):
            columns = matrix[:, rng.choice(24, n_columns, replace=False)].T
            length = isolating_vector(columns[0], columns[1:]) @ columns[0]
            assert np.log(length) >= log_kruskal_bound(4, dispersion, n_columns)


# ---------------------------------------------------------------- test functions
def test_pair_vectors():
    assert pair_probabilities([0.25, 0.25], [False, True]) == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert pair_annihilator(0.25, False) == pytest.approx(np.array([0.2, -0.8]))
    assert pair_annihilator(0.25, True) == pytest.approx(np.array([0.8, -0.2]))
    phis, flips = np.meshgrid(np.linspace(0, 1, 7), [False, True])
    assert (pair_probabilities(phis, flips) * pair_annihilator(phis, flips)).sum(-1) == pytest.approx(np.zeros((2, 7)))


def test_pair_test_function_keeps_its_component_and_annihilates_the_others():
    """Lemma 10 and its bound |phi_a - psi| / 4 for each factor, whatever pairs are flipped."""
    others, wanted = np.array([0.2, 0.45, 0.9]), 0.7
    for flips in itertools.product([False, True], repeat=3):
        for own in itertools.product([False, True], repeat=3):
            unwanted = np.array(list(itertools.product([False, True], repeat=3)))
            Z = pair_test_function(others, flips)
            for a in range(3):
                matching = unwanted[unwanted[:, a] == flips[a]]
                tensors = pair_tensor_of(np.full(len(matching), others[a]), matching)
                assert tensors @ Z == pytest.approx(np.zeros(len(matching)), abs=1e-15)
            assert abs(pair_tensor_of([wanted], [own])[0] @ Z) >= np.prod(np.abs(others - wanted) / 4)


def test_tensor_product_lets_the_last_factor_vary_fastest():
    assert tensor_product([np.array([1.0, 2.0]), np.array([3.0, 5.0, 7.0])]).tolist() == [3, 5, 7, 6, 10, 14]


def test_isolating_blocks_are_satisfied_by_the_wanted_center_alone():
    rng = np.random.default_rng(3)
    for _ in range(40):
        centers = np.array([rng.permutation(6) for _ in range(4)])
        for wanted in range(4):
            blocks = isolating_blocks(centers, wanted)
            assert sum(len(block) for block in blocks) <= 6
            assert satisfies_ordered_block_structure(centers, blocks)[wanted]
            assert satisfies_order_structure(centers, blocks).sum() == 1


@pytest.mark.parametrize("dispersion", [0.2, 0.7])
def test_block_test_function_isolates_and_orders_one_component(dispersion):
    """Lemma 4: the other components vanish. Lemma 7: what is left has the sign of every other pair of the center."""
    rng = np.random.default_rng(8)
    ranks = all_permutations(6)
    for _ in range(5):
        centers = np.array([rng.permutation(6) for _ in range(3)])
        blocks = isolating_blocks(centers, 0)
        Z = block_test_function(centers, dispersion, blocks, 0)
        products = [block_tensor(center, dispersion, blocks).ravel() @ Z for center in centers]
        assert products[0] > 0
        assert products[1:] == pytest.approx([0, 0], abs=1e-13)

        pmf = np.mean([mallows_pmf(ranks, center, dispersion) for center in centers], axis=0)
        weights = pmf * satisfies_block_structure(ranks, blocks) * Z[block_orderings(ranks, blocks)]
        sums = weights @ pair_signs(ranks, dtype=float)
        i, j = np.triu_indices(6, 1)
        in_block = {item for block in blocks for item in block}
        outside = np.array([a not in in_block and b not in in_block for a, b in zip(i, j, strict=True)])
        assert (np.sign(sums) == pair_signs(centers[:1])[0])[outside].all()


def test_ordering_probabilities_follow_the_center():
    assert ordering_probabilities(np.array([2, 0, 1]), 0.5, [0, 2]) == pytest.approx([1 / 3, 2 / 3])


def test_pairs_and_blocks_together_isolate_one_of_several_components():
    """Lemmas 6 and 8: a pair annihilates the component of another dispersion, blocks those of the same one."""
    centers = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 3, 2, 4, 5], [1, 0, 4, 5, 2, 3]])
    dispersions = np.array([0.4, 0.4, 0.7])
    blocks = isolating_blocks(centers[:2], 0)
    assert blocks == [[2, 3]]
    Z = tensor_product([pair_annihilator(0.7, True), block_test_function(centers[:2], 0.4, blocks, 0)])
    structure = [[0, 1], *blocks]
    products = [block_tensor(c, phi, structure).ravel() @ Z for c, phi in zip(centers, dispersions, strict=True)]
    assert abs(products[0]) > 1e-2
    assert products[1:] == pytest.approx([0, 0], abs=1e-15)

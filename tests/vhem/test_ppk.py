"""The probability product kernel against integrals and enumeration; PPK-SC on planted groups."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import rand_score
from vhem_examples import left_right_hmm, noisy_copies, random_h3m, random_hmm, replaced

from vhem import (
    H3M,
    HMM,
    VHEM,
    PPKSpectralClustering,
    expected_log_likelihood,
    probability_product_kernel,
)
from vhem._spectral import spectral_embedding
from vhem.rivals.kernel import sequence_overlaps


def grid_overlap(p, q, power, full):
    """Integral of ``N_p^power N_q^power`` over a fine grid in one or two dimensions."""
    (mean_p, covar_p), (mean_q, covar_q) = p, q
    d = len(mean_p)
    axis = np.linspace(-14, 14, 1201 if d == 1 else 401)
    points = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)

    def log_density(mean, covar):
        matrix = covar if full else np.diag(covar)
        difference = points - mean
        return -0.5 * (
            np.einsum("na,ab,nb->n", difference, np.linalg.inv(matrix), difference)
            + np.linalg.slogdet(2 * np.pi * matrix)[1]
        )

    values = np.exp(power * (log_density(mean_p, covar_p) + log_density(mean_q, covar_q)))
    return values.sum() * (axis[1] - axis[0]) ** d


def enumerated_log_kernel(a, b, power, length):
    """Sum over all pairs of paths, with the overlaps of states from the grid."""
    full = a.covariance_type == "full"

    def overlap(i, j):
        return sum(
            (a.weights[i, m] * b.weights[j, n]) ** power
            * grid_overlap(
                (a.means[i, m], a.covars[i, m]), (b.means[j, n], b.covars[j, n]), power, full
            )
            for m in range(a.n_mix)
            for n in range(b.n_mix)
        )

    table = np.array([[overlap(i, j) for j in range(b.n_states)] for i in range(a.n_states)])

    def paths(hmm):
        with np.errstate(divide="ignore"):
            for path in itertools.product(range(hmm.n_states), repeat=length):
                steps = hmm.transmat[list(path[:-1]), list(path[1:])]
                yield list(path), power * (np.log(hmm.startprob[path[0]]) + np.log(steps).sum())

    return logsumexp([p + q + np.log(table[x, y]).sum() for x, p in paths(a) for y, q in paths(b)])


def pair_kernel(a, b, **options):
    options = {"normalize": False, "log": True, **options}
    return probability_product_kernel(H3M.from_hmms([a]), H3M.from_hmms([b]), **options)[0, 0]


# ------------------------------------------------------------------ the kernel


@pytest.mark.parametrize("length", [1, 2])
def test_power_one_is_the_integral_of_the_product_of_the_densities(length):
    rng = np.random.default_rng(length)
    a, b = random_hmm(rng, 2, 2, 1), random_hmm(rng, 3, 1, 1)
    axis = np.linspace(-12, 12, 301)
    sequences = np.stack(np.meshgrid(*[axis] * length, indexing="ij"), axis=-1)
    sequences = sequences.reshape(-1, length, 1)
    product = np.exp(a.score_samples(sequences) + b.score_samples(sequences))
    expected = np.log(product.sum() * (axis[1] - axis[0]) ** length)
    assert pair_kernel(a, b, power=1.0, length=length) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("power", [0.5, 0.3, 1.0])
@pytest.mark.parametrize("full", [False, True])
def test_kernel_is_the_sum_over_paths_of_integrals(power, full):
    rng = np.random.default_rng(int(10 * power) + full)
    d = 2 if full else 1
    a, b = random_hmm(rng, 2, 2, d, full), random_hmm(rng, 3, 1, d, full)
    expected = enumerated_log_kernel(a, b, power, 3)
    assert pair_kernel(a, b, power=power, length=3) == pytest.approx(expected, abs=1e-8)


def test_zeros_in_the_chains_are_respected_even_where_the_only_path_underflows():
    rng = np.random.default_rng(0)
    a, b = left_right_hmm(rng, 3, 1, 1, spread=1.0), left_right_hmm(rng, 3, 1, 1, spread=1.0)
    expected = enumerated_log_kernel(a, b, 0.5, 4)
    assert pair_kernel(a, b, length=4) == pytest.approx(expected, abs=1e-8)
    # Two chains that alternate in opposite phase: like states never meet.
    alternate = HMM([1, 0], [[0, 1], [1, 0]], [[1], [1]], [[[0.0]], [[300.0]]], [[[1.0]], [[1.0]]])
    opposite = replaced(alternate, startprob=[0, 1])
    assert pair_kernel(alternate, opposite, length=5) == pytest.approx(-5 * 300.0**2 / 8)


@pytest.mark.parametrize("seed", range(4))
def test_recursion_keeps_paths_that_underflow_before_they_count(seed):
    rng = np.random.default_rng(seed)
    a, b = left_right_hmm(rng, 3, 1, 1), left_right_hmm(rng, 2, 1, 1)
    a = replaced(a, startprob=[0.5, 0.5, 0.0])
    # State 1 is negligible beside state 0, but the earlier of the two ways into state 2, which
    # counts most of all.
    log_psi = np.array([[0.0], [-1000.0], [5000.0]]) + rng.normal(size=(3, 2))
    with np.errstate(divide="ignore"):
        log_a, log_b = np.log(a.transmat), np.log(b.transmat)
        start_a, start_b = np.log(a.startprob), np.log(b.startprob)
    found = np.empty(1)
    sequence_overlaps(log_psi, start_a, log_a, start_b[None], log_b[None], 5, found)
    terms = []
    for x in itertools.product(range(3), repeat=5):
        for y in itertools.product(range(2), repeat=5):
            chain = log_a[x[:-1], x[1:]].sum() + log_b[y[:-1], y[1:]].sum()
            terms.append(start_a[x[0]] + start_b[y[0]] + chain + log_psi[x, y].sum())
    assert found[0] == pytest.approx(logsumexp(terms), rel=1e-12)


def test_one_gaussian_gives_the_bhattacharyya_affinity():
    rng = np.random.default_rng(1)
    a, b = random_hmm(rng, 1, 1, 3, full=True), random_hmm(rng, 1, 1, 3, full=True)
    covar_a, covar_b = a.covars[0, 0], b.covars[0, 0]
    middle = (covar_a + covar_b) / 2
    difference = a.means[0, 0] - b.means[0, 0]
    distance = difference @ np.linalg.solve(middle, difference) / 8 + 0.5 * (
        np.linalg.slogdet(middle)[1]
        - 0.5 * (np.linalg.slogdet(covar_a)[1] + np.linalg.slogdet(covar_b)[1])
    )
    assert pair_kernel(a, b, length=7) == pytest.approx(-7 * distance)
    assert pair_kernel(a, b, length=7, normalize=True) == pytest.approx(-7 * distance)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_normalised_kernel_is_a_correlation_matrix(power):
    h3m = random_h3m(np.random.default_rng(2), 12, 3, 2, 2)
    kernel = probability_product_kernel(h3m, power=power)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_allclose(np.diag(kernel), 1.0)
    assert kernel.max() <= 1.0 + 1e-12
    assert np.linalg.eigvalsh(kernel)[0] > -1e-10


def test_order_of_states_padding_and_kind_of_covariance_do_not_matter():
    rng = np.random.default_rng(3)
    h3m = random_h3m(rng, 3, 3, 2, 2)
    expected = probability_product_kernel(h3m)
    order, mixtures = [2, 0, 1], [1, 0]
    shuffled = H3M(
        h3m.weights,
        h3m.startprob[:, order],
        h3m.transmat[:, order][:, :, order],
        h3m.mixture_weights[:, order][:, :, mixtures],
        h3m.means[:, order][:, :, mixtures],
        h3m.covars[:, order][:, :, mixtures],
    )
    np.testing.assert_allclose(probability_product_kernel(shuffled), expected)
    np.testing.assert_allclose(probability_product_kernel(h3m, shuffled).diagonal(), 1.0)
    larger = H3M.from_hmms([*h3m, random_hmm(rng, 5, 4, 2)])
    np.testing.assert_allclose(probability_product_kernel(larger)[:3, :3], expected)
    matrices = replaced(h3m, covars=h3m.covars[..., None] * np.eye(2))
    np.testing.assert_allclose(probability_product_kernel(matrices), expected)
    np.testing.assert_allclose(probability_product_kernel(h3m, matrices), expected)


def test_translation_of_the_data_does_not_matter():
    h3m = random_h3m(np.random.default_rng(4), 4, 2, 2, 3)
    moved = replaced(h3m, means=h3m.means + 1e6)
    np.testing.assert_allclose(
        probability_product_kernel(moved, log=True),
        probability_product_kernel(h3m, log=True),
        atol=1e-6,
    )


def test_two_mixtures_of_more_than_a_block_give_the_kernel_of_their_union():
    h3m = random_h3m(np.random.default_rng(5), 140, 2, 1, 2)
    both = probability_product_kernel(h3m, log=True, normalize=False)
    apart = probability_product_kernel(
        H3M.from_hmms([h3m[k] for k in range(3)]), h3m, log=True, normalize=False
    )
    np.testing.assert_allclose(apart, both[:3], rtol=1e-12)


def test_logarithm_survives_where_the_kernel_underflows():
    h3m = random_h3m(np.random.default_rng(6), 5, 4, 2, 123, spread=5.0)
    log_kernel = probability_product_kernel(h3m, log=True)
    off_diagonal = log_kernel[~np.eye(5, dtype=bool)]
    assert np.isfinite(log_kernel).all()
    assert off_diagonal.max() < -750
    assert (probability_product_kernel(h3m)[~np.eye(5, dtype=bool)] == 0).all()


def test_number_of_threads_changes_no_byte():
    h3m = random_h3m(np.random.default_rng(7), 20, 3, 2, 4)
    one, two = (probability_product_kernel(h3m, n_jobs=n) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


# ------------------------------------------------------------------ clustering


def three_groups(rng, copies=8, d=2):
    prototypes = [random_hmm(rng, 3, 2, d, spread=3.0) for _ in range(3)]
    return noisy_copies(rng, prototypes, copies, noise=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_three_groups_are_recovered(seed):
    h3m, labels = three_groups(np.random.default_rng(seed))
    sc = PPKSpectralClustering(3, random_state=0).fit(h3m)
    assert rand_score(sc.labels_, labels) == 1.0
    assert sc.converged_
    assert set(sc.timings_) == {"kernel", "spectral", "centers"}
    np.testing.assert_allclose(np.linalg.norm(sc.embedding_, axis=1), 1.0)
    np.testing.assert_allclose(sc.model_.weights, 1 / 3)


def test_nearest_centres_are_the_hmms_nearest_to_the_centres_of_the_embedding():
    h3m, _ = three_groups(np.random.default_rng(0))
    sc = PPKSpectralClustering(3, random_state=0).fit(h3m)
    for k in range(3):
        members = np.flatnonzero(sc.labels_ == k)
        centre = sc.embedding_[members].mean(axis=0)
        np.testing.assert_allclose(sc.embedding_centers_[k], centre)
        squares = ((sc.embedding_ - centre) ** 2).sum(axis=1)
        assert squares[sc.exemplars_[k]] <= squares[members].min() + 1e-7
        np.testing.assert_array_equal(sc.model_[k].means, h3m[int(sc.exemplars_[k])].means)


def test_relearned_centres_explain_their_clusters_better_than_the_nearest_hmms():
    h3m, _ = three_groups(np.random.default_rng(2), copies=4)
    nearest = PPKSpectralClustering(3, random_state=0).fit(h3m)
    vhem = VHEM(virtual_length=5, random_state=0)
    learned = PPKSpectralClustering(3, centers="vhem", vhem=vhem, random_state=0).fit(h3m)
    np.testing.assert_array_equal(learned.labels_, nearest.labels_)
    for k in range(3):
        members = [h3m[int(i)] for i in np.flatnonzero(nearest.labels_ == k)]
        before = expected_log_likelihood(members, [nearest.model_[k]], 5).mean()
        assert expected_log_likelihood(members, [learned.model_[k]], 5).mean() > before
    assert vhem.n_components == 2
    assert learned.timings_["centers"] > 0


def test_embedding_knows_no_scale_so_that_tiny_affinities_still_tell_groups_apart():
    h3m, labels = three_groups(np.random.default_rng(1))
    log_kernel = probability_product_kernel(h3m, log=True)
    plain, parts, _ = spectral_embedding(log_kernel, 3)
    # A factor that would underflow the kernel itself.
    tiny, same_parts, _ = spectral_embedding(log_kernel - 2000.0, 3)
    np.testing.assert_allclose(tiny @ tiny.T, plain @ plain.T, atol=1e-8)
    assert parts == same_parts
    assert rand_score((plain @ plain.T > 0.5).argmax(axis=1), labels) == 1.0


def test_a_disconnected_graph_is_told_and_a_root_connects_it():
    h3m = random_h3m(np.random.default_rng(8), 12, 2, 1, 93, spread=2.0)
    sc = PPKSpectralClustering(2, random_state=0)
    with pytest.warns(UserWarning, match="parts, more than n_clusters = 2"):
        sc.fit(h3m)
    assert sc.n_parts_ > 2
    assert not sc.determined_
    assert not sc.merge(h3m, 1).determined_
    assert np.isfinite(sc.embedding_).all()
    assert set(sc.labels_) == {0, 1}
    connected = PPKSpectralClustering(2, root="value", random_state=0).fit(h3m)
    assert connected.n_parts_ == 1
    assert connected.determined_
    number = PPKSpectralClustering(2, root=10 * 93, random_state=0).fit(h3m)
    np.testing.assert_array_equal(connected.embedding_, number.embedding_)
    for named, root in (("frame", 10), (1, 1.0)):
        embeddings = []
        for same in (named, root):
            sc = PPKSpectralClustering(12, root=same, random_state=0).fit(h3m)
            embeddings.append(sc.embedding_)
        np.testing.assert_array_equal(*embeddings)


def test_parts_that_are_apart_are_not_merged_by_the_affinities():
    """Three groups without any affinity: three clusters are determined, two are not."""
    h3m, labels = three_groups(np.random.default_rng(1))
    far = H3M(
        h3m.weights,
        h3m.startprob,
        h3m.transmat,
        h3m.mixture_weights,
        h3m.means + 1000 * labels[:, None, None, None],
        h3m.covars,
    )
    sc = PPKSpectralClustering(3, root="value", random_state=0).fit(far)
    assert sc.n_parts_ == 3
    assert sc.determined_
    assert not sc.merge(far, 2).determined_


def test_fewer_distinct_hmms_than_clusters_are_told_and_each_is_a_cluster():
    rng = np.random.default_rng(9)
    one, other = random_hmm(rng, 2, 1, 2), random_hmm(rng, 2, 1, 2)
    h3m = H3M.from_hmms([one, other, one, one])
    with pytest.warns(UserWarning, match="only 2 HMMs are distinct"):
        sc = PPKSpectralClustering(3, random_state=0).fit(h3m)
    np.testing.assert_array_equal(sc.labels_, [0, 1, 0, 0])
    np.testing.assert_allclose(sc.model_.weights, [0.75, 0.25])


def test_edges_one_hmm_and_as_many_clusters_as_hmms():
    rng = np.random.default_rng(10)
    alone = PPKSpectralClustering(1, random_state=0).fit(H3M.from_hmms([random_hmm(rng, 2, 1, 2)]))
    np.testing.assert_array_equal(alone.labels_, [0])
    h3m = random_h3m(rng, 5, 2, 1, 2)
    each = PPKSpectralClustering(5, random_state=0).fit(h3m)
    np.testing.assert_array_equal(each.labels_, np.arange(5))
    np.testing.assert_array_equal(each.model_.means, h3m.means)


def test_mixed_dimensions_are_an_error():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="other has 3 features, h3m has 2"):
        probability_product_kernel(random_h3m(rng, 2, 2, 1, 2), random_h3m(rng, 2, 2, 1, 3))

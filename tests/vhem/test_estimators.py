"""What every estimator of the library promises, whatever it does inside."""

import copy
import importlib.util
import inspect
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from vhem_examples import noisy_copies, random_h3m, random_hmm, replaced

from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    HEMGMM,
    SHEM,
    VHEM,
    DynamicTextureMixture,
    ParameterKMeans,
    PPKSpectralClustering,
    SampledKLClustering,
    expected_log_likelihood,
    fit_dynamic_texture,
    probability_product_kernel,
    sampled_divergence,
)

HMMLEARN = importlib.util.find_spec("hmmlearn") is not None
SETTINGS = {"random_state": 0, "n_init": 2}
OF_HMMS = {
    "VHEM": VHEM(2, **SETTINGS),
    "SHEM": SHEM(2, n_samples=120, **SETTINGS),
    "HEMGMM": HEMGMM(2, **SETTINGS),
    "PPK-SC": PPKSpectralClustering(2, **SETTINGS),
    "parameters": ParameterKMeans(2, **SETTINGS),
    "sampled KL": SampledKLClustering(2, n_sequences=10, **SETTINGS),
}
ALL = {
    **OF_HMMS,
    "HEMDTM": HEMDTM(2, max_iter=5, **SETTINGS),
    "EMH3M": EMH3M(2, 2, max_iter=5, **SETTINGS),
}
# Two groups, one far from the other.
LABELS = np.repeat([0, 1], 3)
ALTERNATING = np.tile([0, 1], 3)


def two_groups():
    rng = np.random.default_rng(0)
    near = random_hmm(rng, 2, 1, 2)
    far = replaced(random_hmm(rng, 2, 1, 2), means=near.means + 30.0)
    return noisy_copies(rng, [near, far], 3, noise=0.1)[0]


HMMS = two_groups()
SEQUENCES = [hmm.sample(1, 25, k)[0][0] for k, hmm in enumerate(HMMS)]
TEXTURES = [fit_dynamic_texture(sequence, 1) for sequence in SEQUENCES]


def items_of(name):
    """What the estimator clusters, as a list."""
    return {"HEMDTM": TEXTURES, "EMH3M": SEQUENCES}.get(name, list(HMMS))


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(estimator).fit(items_of(name)) for name, estimator in ALL.items()}


every = pytest.mark.parametrize("name", ALL)
of_hmms = pytest.mark.parametrize("name", OF_HMMS)


# --- scikit-learn's interface -------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
@every
def test_scikit_learn_checks_that_need_no_table(name, check):
    """Its others fit a table of shape (n, d). A list of sequences or models is none, which the tag
    two_d_array says, so that check_estimator leaves them out as well."""
    estimator = ALL[name]
    assert not estimator.__sklearn_tags__().input_tags.two_d_array
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


@every
def test_labels_of_the_user_play_no_part(name, fitted):
    items, expected = items_of(name), fitted[name]
    pipeline = make_pipeline(clone(ALL[name]))
    for found in (clone(ALL[name]).fit(items, ALTERNATING), pipeline.fit(items, ALTERNATING)[0]):
        assert found.model_ == expected.model_
    np.testing.assert_array_equal(pipeline.fit_predict(items, ALTERNATING), expected.labels_)
    assert pipeline.score(items, ALTERNATING) == expected.score(items)


def test_labels_do_not_make_clusters_of_noise():
    rng = np.random.default_rng(1)
    noise, labels = [rng.normal(size=(12, 2)) for _ in range(40)], np.arange(40) % 2
    em = EMH3M(2, 2, max_iter=5, random_state=0).fit(noise, labels)
    assert rand_score(em.labels_, labels) < 0.6


@every
def test_what_is_no_data_goes_by_keyword(name):
    parameters = list(inspect.signature(type(ALL[name]).fit).parameters.values())[3:]
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    # HEMGMM().fit(weights, means, covars) are the data.
    assert positional == (["covars"] if name == "HEMGMM" else [])


@every
def test_groups_are_found_again_in_new_items_and_in_sequences(name, fitted):
    items, estimator = items_of(name), fitted[name]
    assert rand_score(estimator.labels_, LABELS) == 1
    for found in (clone(estimator).fit_predict(items), estimator.predict(items)):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, estimator.labels_)
    np.testing.assert_array_equal(estimator.predict(items[4:]), estimator.labels_[4:])
    np.testing.assert_array_equal(estimator.predict(SEQUENCES), estimator.labels_)


@every
def test_scores_are_those_of_the_documentation(name, fitted):
    items, estimator = items_of(name), fitted[name]
    expected = np.mean(estimator.model_.score_samples(SEQUENCES))
    assert estimator.score(SEQUENCES) == pytest.approx(expected)
    assert isinstance(estimator.score(items), float)
    worse = copy.deepcopy(estimator)
    if name == "EMH3M":
        return
    if name in ("VHEM", "HEMGMM", "HEMDTM"):
        # By default ten thousand virtual samples of each base component.
        n_base = len(items) * (2 if name == "HEMGMM" else 1)
        assert estimator.score(items) == pytest.approx(estimator.lower_bound_ / (1e4 * n_base))
    if name == "SHEM":
        assert estimator.score(items) == pytest.approx(estimator.lower_bound_ / 120)
    worse.model_ = replaced(worse.model_, **moved(worse.model_))
    assert worse.score(items) < estimator.score(items)


def moved(model):
    name = "offset" if isinstance(model, DynamicTextureMixture) else "means"
    return {name: getattr(model, name) + 1.0}


def test_prediction_of_a_weighted_mixture_is_equation_10():
    base = random_h3m(np.random.default_rng(2), 6, 2, 1, 2)
    vhem = VHEM(2, virtual_samples=3.0, **SETTINGS).fit(base)
    np.testing.assert_array_equal(vhem.predict(base), vhem.labels_)
    bounds = expected_log_likelihood(base, vhem.model_, vhem.virtual_length)
    joint = np.log(vhem.model_.weights) + 3.0 * base.weights[:, None] * bounds
    assert vhem.score(base) == pytest.approx(np.logaddexp(*joint.T).sum() / 3.0)


@every
def test_before_a_fit(name):
    for method in ("predict", "score"):
        with pytest.raises(NotFittedError):
            getattr(clone(ALL[name]), method)(items_of(name))


@every
def test_copies_of_a_fitted_estimator_are_as_good(name, fitted):
    estimator, items = fitted[name], items_of(name)
    for other in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert other.model_ == estimator.model_
        np.testing.assert_array_equal(other.predict(items), estimator.labels_)
    with ThreadPoolExecutor(3) as pool:
        for other in pool.map(lambda _: clone(estimator).fit(items), range(3)):
            assert other.model_ == estimator.model_


def test_cross_validation_chooses_a_number_of_clusters():
    search = GridSearchCV(VHEM(**SETTINGS), {"n_components": [1, 2]}, cv=3)
    assert search.fit(list(HMMS)[::-1] + list(HMMS)).best_params_ == {"n_components": 2}


# --- forms of models ----------------------------------------------------------------------------


@of_hmms
def test_models_come_in_every_form(name, fitted):
    expected = fitted[name]
    forms = {
        "H3M": HMMS,
        "H3Ms": [HMMS[:3], HMMS[3:]],
        "HMM and H3M": [H3M.from_hmms([hmm]) if k % 2 else hmm for k, hmm in enumerate(HMMS)],
        "array of objects": np.array([*HMMS, None], dtype=object)[:-1],
    }
    if HMMLEARN:
        forms["hmmlearn"] = HMMS.to_hmmlearn()
    for form, models in forms.items():
        found = clone(expected).fit(models)
        np.testing.assert_allclose(found.model_.means, expected.model_.means, err_msg=form)
        np.testing.assert_array_equal(found.predict(models), expected.labels_)
    series = pd.Series(list(HMMS), index=list("abcdef"))
    for once in (iter(HMMS), dict(enumerate(HMMS)).values(), series):
        np.testing.assert_array_equal(expected.predict(once), expected.labels_)
    assert expected.score(iter(HMMS)) == expected.score(HMMS)
    single = clone(expected).set_params(**{"n_clusters" if name in MERGING else "n_components": 1})
    for model in (HMMS[:1], HMMS[0], *forms.get("hmmlearn", [])[:1]):
        np.testing.assert_array_equal(single.fit_predict(model), [0])


MERGING = ("PPK-SC", "parameters", "sampled KL")


def test_functions_of_models_take_every_form():
    for function in (
        lambda models: expected_log_likelihood(models, models, 3),
        probability_product_kernel,
        lambda models: sampled_divergence(models, 3, 4, random_state=0),
    ):
        expected = function(HMMS)
        np.testing.assert_allclose(function(list(HMMS)), expected)
        if HMMLEARN:
            np.testing.assert_allclose(function(HMMS.to_hmmlearn()), expected)


def test_components_of_a_mixture_in_a_list_share_its_weight():
    base = random_h3m(np.random.default_rng(3), 3, 2, 1, 2)
    vhem = VHEM(1, max_iter=1, **SETTINGS).fit([base, base[0]])
    same = VHEM(1, max_iter=1, **SETTINGS).fit(
        H3M.from_hmms([*base, base[0]], [*(base.weights / 2), 0.5])
    )
    assert vhem.model_ == same.model_


def test_textures_come_in_every_form(fitted):
    mixture = DynamicTextureMixture.from_systems(TEXTURES)
    for form in (mixture, [*TEXTURES[:2], DynamicTextureMixture.from_systems(TEXTURES[2:])]):
        np.testing.assert_array_equal(
            clone(ALL["HEMDTM"]).fit_predict(form), fitted["HEMDTM"].labels_
        )
    np.testing.assert_array_equal(HEMDTM(1, n_init=1).fit_predict(TEXTURES[0]), [0])


def test_gaussians_of_hmms_weigh_what_their_states_and_mixtures_do():
    base = random_h3m(np.random.default_rng(4), 5, 1, 3, 2)
    arrays = (base.weights[:, None] * base.mixture_weights[:, 0]).ravel(), base.means.reshape(-1, 2)
    by_arrays = HEMGMM(3, **SETTINGS).fit(*arrays, base.covars.reshape(-1, 2))
    by_models = HEMGMM(3, **SETTINGS).fit(base)
    np.testing.assert_allclose(by_models.model_.means, by_arrays.model_.means)
    assert by_models.responsibilities_.shape == (5, 3)
    np.testing.assert_allclose(by_models.responsibilities_.sum(axis=1), 1.0)
    # One that leaves its first state at once shows it in one observation of four.
    leaving = replaced(HMMS[0], startprob=[1, 0], transmat=[[0, 1], [0, 1]])
    model = HEMGMM(1, virtual_length=4, **SETTINGS).fit(leaving).model_
    np.testing.assert_allclose(model.means[0, 0], [0.25, 0.75] @ leaving.means[:, 0])


# --- what cannot be clustered -------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "junk", [None, 3, "x", [], [1, 2], {"a": 1}, {1, 2}, [None], np.zeros((3, 3))], ids=repr
)
def test_junk_is_refused_by_name(name, junk):
    with pytest.raises(
        (TypeError, ValueError), match=r"(base|systems|h3m|X|sequences)(\[0\])? (is|has)"
    ):
        clone(ALL[name]).fit(junk)


@of_hmms
def test_wrong_items_are_named_with_their_place(name, fitted):
    with pytest.raises(TypeError, match=r"\[0\] is a ndarray, .* for sequences there is EMH3M"):
        clone(ALL[name]).fit(SEQUENCES)
    with pytest.raises(TypeError, match=r"\[1\] is a DynamicTexture, expected an H3M, an HMM"):
        clone(ALL[name]).fit([HMMS[0], TEXTURES[0]])
    stranger = random_hmm(np.random.default_rng(0), 2, 1, 3)
    with pytest.raises(ValueError, match=r"\[1\] has 3 features, .*\[0\] has 2"):
        clone(ALL[name]).fit([HMMS[0], stranger])
    for method in ("predict", "score"):
        with pytest.raises(ValueError, match="models have 3 features, those of the fit 2"):
            getattr(fitted[name], method)(stranger)
        with pytest.raises(ValueError, match=r"sequences\[0\] has 3 features, expected 2"):
            getattr(fitted[name], method)([np.zeros((4, 3))])


@every
def test_more_clusters_than_items(name):
    estimator = clone(ALL[name])
    number = "n_clusters" if name in MERGING else "n_components"
    with pytest.raises(ValueError, match=f"{number} is 40, but"):
        estimator.set_params(**{number: 40}).fit(items_of(name))


@every
def test_equal_items_share_a_cluster_and_are_told(name):
    items = items_of(name)
    doubled = [items[0], items[5], items[0], items[0]]
    number = "n_clusters" if name in MERGING else "n_components"
    estimator = clone(ALL[name]).set_params(**{number: 3})
    if name in ("SHEM", "HEMGMM"):
        # Samples of equal models differ; of two HMMs with two states there are four Gaussians.
        labels = estimator.set_params(**{number: 2}).fit_predict(doubled)
    else:
        with pytest.warns(UserWarning, match=f"{number} is 3, but only 2 .* distinct"):
            labels = estimator.fit_predict(doubled)
    assert labels[0] == labels[2] == labels[3] != labels[1]


COUNTS = ("n_components", "n_clusters", "n_init", "virtual_length", "length", "n_samples",
          "n_sequences", "n_states", "n_mix", "max_iter")  # fmt: skip
NUMBERS = ("tol", "covariance_floor", "reg_covar", "virtual_samples", "power", "root",
           "max_spectral_radius")  # fmt: skip
BAD = [
    *((name, value) for name in COUNTS for value in (-1, 1.5, "a", np.nan, np.inf, True, [1])),
    *((name, value) for name in NUMBERS for value in (-1, "a", np.nan, np.inf, True, [1])),
    *(("virtual_samples", value) for value in (0, 1e308)),
    *((name, 0) for name in ("length", "virtual_length", "power", "root", "n_init", "n_samples")),
    ("random_state", "a"),
    ("random_state", -1),
    ("random_state", 1.5),
    ("init", "best"),
    ("init", 3),
    ("centers", "mean"),
    ("covariance_type", "tied"),
]


@every
def test_parameters_out_of_range_are_named(name):
    for parameter, value in BAD:
        estimator = clone(ALL[name])
        if parameter not in estimator.get_params():
            continue
        with pytest.raises((TypeError, ValueError), match=parameter):
            estimator.set_params(**{parameter: value}).fit(items_of(name))


@pytest.mark.parametrize("name", ["VHEM", "HEMGMM", "HEMDTM"])
@pytest.mark.parametrize("samples", [1e-300, 1e-9, 1e100])
def test_any_number_of_virtual_samples_has_an_answer(name, samples):
    estimator = clone(ALL[name]).set_params(virtual_samples=samples)
    estimator.fit(items_of(name))
    assert np.isfinite(estimator.score(items_of(name)))
    if samples < 1:
        expected = np.tile(estimator.responsibilities_[0], (6, 1))
        np.testing.assert_allclose(estimator.responsibilities_, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["VHEM", "HEMGMM"])
@pytest.mark.parametrize("full", [False, True])
def test_means_too_far_apart_for_their_variances_are_told(name, full):
    def apart(distance):
        covars = np.tile(np.eye(2), (2, 1, 1, 1)) if full else np.ones((2, 1, 2))
        hmms = [replaced(hmm, covars=covars) for hmm in HMMS]
        return [*hmms[:3], *(replaced(hmm, means=hmm.means + distance) for hmm in hmms[:3])]

    with pytest.warns(UserWarning, match="rounding costs 0.0.* nats per observation"):
        labels = clone(ALL[name]).fit_predict(apart(1e7))
    assert rand_score(labels, LABELS) == 1
    for distance in (1e9, 1e140):
        with pytest.raises(ValueError, match="nats per observation: scale the features"):
            clone(ALL[name]).fit(apart(distance))


# --- EM ---------------------------------------------------------------------------------------


# Settings under which starts end in different places, and steps remain to be done.
HARD = {
    "VHEM": {"virtual_samples": 20.0},
    "HEMGMM": {"virtual_samples": 20.0, "init": "base"},
    "HEMDTM": {"virtual_samples": 20.0},
    "SHEM": {"length": 5},
    "EMH3M": {"n_states": 3},
}
by_em = pytest.mark.parametrize("name", HARD)


def without_groups(name, **settings):
    """A fit to items that fall into no groups."""
    rng = np.random.default_rng(5)
    base = random_h3m(rng, 12, 2, 1, 2)
    sequences = [base[k].sample(1, 12, k)[0][0] for k in range(12)]
    items = {"EMH3M": sequences, "HEMDTM": [fit_dynamic_texture(y, 1) for y in sequences]}
    settings = {"n_components": 3, "max_iter": 100, **HARD[name], **settings}
    return clone(ALL[name]).set_params(**settings), items.get(name, base)


@by_em
def test_the_best_of_all_starts_is_kept(name):
    estimator, items = without_groups(name, n_init=6, max_iter=4)
    estimator.fit(items)
    assert len(estimator.restart_objectives_) == 6
    assert len(np.unique(estimator.restart_objectives_)) > 1
    best = estimator.restart_objectives_.max()
    assert estimator.lower_bound_ == estimator.history_[-1] == best
    assert len(estimator.history_) == estimator.n_iter_ + 1
    np.testing.assert_array_equal(estimator.labels_, estimator.responsibilities_.argmax(axis=1))


@by_em
def test_convergence_is_claimed_only_when_reached(name):
    estimator, items = without_groups(name, n_init=1, tol=1e-4)
    estimator.fit(items)
    assert estimator.converged_
    steps, changes = estimator.n_iter_, np.abs(np.diff(estimator.history_))
    assert 1 < steps < 100
    # The unit of tol: a frame of the sequences, or the objective's own size.
    unit = {"EMH3M": 12 * 12.0, "SHEM": 120 * 5.0}.get(name, np.abs(estimator.history_[:-1]))
    assert ((changes < 1e-4 * unit) == (np.arange(steps) == steps - 1)).all()
    for settings in ({"max_iter": steps - 1}, {"max_iter": 0}, {"tol": None, "max_iter": steps}):
        cut = clone(estimator).set_params(**settings).fit(items)
        assert not cut.converged_
        assert cut.n_iter_ == settings["max_iter"]
    assert cut.model_ == estimator.model_


@pytest.mark.parametrize("name", ["VHEM", "HEMGMM", "HEMDTM", "EMH3M"])
def test_results_belong_to_the_final_model(name):
    estimator, items = without_groups(name, n_init=1, max_iter=3, tol=None)
    estimator.fit(items)
    model = estimator.model_
    weights = model.weights[0] if name == "HEMGMM" else model.weights
    if name == "HEMGMM":
        # Of HMMs it averages over their Gaussians.
        items = np.full(24, 1 / 24), items.means.reshape(-1, 2), items.covars.reshape(-1, 2)
    given = {"init": model} if name == "EMH3M" else {}
    again = clone(estimator).set_params(max_iter=0, **({} if given else {"init": model}))
    again.fit(*(items if isinstance(items, tuple) else [items]), **given)
    base = {"VHEM": getattr(items, "weights", None), "EMH3M": np.ones(12)}.get(name)
    n_base = len(again.labels_)
    counts = np.full(n_base, 20.0 / n_base) if base is None else base * 20.0 ** (name == "VHEM")
    joint = np.log(weights) + counts[:, None] * again.log_likelihoods_
    evidence = np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert evidence.sum() == pytest.approx(again.lower_bound_)
    np.testing.assert_allclose(again.responsibilities_, np.exp(joint - evidence), rtol=1e-6)
    if name != "HEMGMM":
        np.testing.assert_allclose(again.history_, [estimator.lower_bound_], rtol=1e-9)
        np.testing.assert_allclose(again.log_likelihoods_, estimator.log_likelihoods_, rtol=1e-9)


@pytest.mark.parametrize("name", ["VHEM", "EMH3M"])
def test_monitor_sees_the_model_after_every_step_and_its_time_counts(name):
    estimator, items = without_groups(name, n_init=2, max_iter=2, tol=None)
    seen = []
    estimator.fit(items, monitor=lambda model: (time.sleep(0.01), seen.append(model)))
    assert len(seen) == 2 * 3
    assert estimator.timings_["em"] >= 0.01 * len(seen)
    best = int(estimator.restart_objectives_.argmax())
    assert seen[3 * best + 2] is estimator.model_
    for model, objective in zip(seen[3 * best :], estimator.history_, strict=False):
        init = {"init": model} if name == "EMH3M" else {}
        again = clone(estimator).set_params(max_iter=0, **({} if init else {"init": model}))
        assert again.fit(items, **init).lower_bound_ == pytest.approx(objective, rel=1e-9)


TIMES = {
    "SHEM": {"sampling", "em"},
    "PPK-SC": {"kernel", "spectral", "centers"},
    "parameters": {"alignment", "kmeans"},
    "sampled KL": {"divergence", "spectral"},
}


@every
def test_times_are_those_of_the_documentation(name, fitted):
    assert set(fitted[name].timings_) == TIMES.get(name, {"init", "em"})
    assert all(seconds > 0 for seconds in fitted[name].timings_.values())


@every
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(name, fitted):
    estimator = clone(ALL[name])
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=2)
    again = estimator.fit(items_of(name))
    for attribute in vars(fitted[name]):
        if attribute.endswith("_") and attribute not in ("timings_", "model_"):
            expected = np.asarray(getattr(fitted[name], attribute))
            assert np.asarray(getattr(again, attribute)).tobytes() == expected.tobytes()
    assert again.model_ == fitted[name].model_

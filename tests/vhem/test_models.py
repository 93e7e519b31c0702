"""The containers: validation, padding, sampling and files."""

import copy
import io
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from vhem_examples import left_right_hmm, random_h3m, random_hmm, replaced

from vhem import H3M, HMM, ModelFileError

PARAMETERS = ("startprob", "transmat", "weights", "means", "covars")


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


# --- validation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("weights", 1, 0.9, r"weights sums to .*, expected 1"),
        ("startprob", (1, 0), 0.9, r"startprob\[1\] sums to"),
        ("transmat", (1, 2, 0), 0.9, r"transmat\[1, 2\] sums to"),
        ("mixture_weights", (0, 1, 1), 0.9, r"mixture_weights\[0, 1\] sums to"),
        ("transmat", (1, 2, 0), -0.1, r"transmat\[1, 2, 0\] is -0.1, expected a number >= 0"),
        ("means", (1, 2, 0, 3), np.nan, r"means\[1, 2, 0, 3\] is nan"),
        ("covars", (0, 0, 1, 2), np.inf, r"covars\[0, 0, 1, 2\] is inf"),
        ("covars", (0, 0, 1, 2), 0.0, r"covars\[0, 0, 1, 2\] is 0, expected a variance > 0"),
    ],
)
def test_bad_number_is_named_with_its_index(name, index, value, message):
    h3m = random_h3m(np.random.default_rng(0), K=2, S=3, M=2, d=4)
    with pytest.raises(ValueError, match=message):
        replaced(h3m, **{name: changed(getattr(h3m, name), index, value)})


@pytest.mark.parametrize("name", ["weights", "startprob", "transmat", "mixture_weights", "covars"])
def test_bad_shape_is_named(name):
    h3m = random_h3m(np.random.default_rng(0), K=2, S=3, M=2, d=4)
    with pytest.raises(ValueError, match=rf"^{name} has shape .*, expected \("):
        replaced(h3m, **{name: getattr(h3m, name)[..., :-1]})


def test_ragged_argument_is_named():
    with pytest.raises(ValueError, match="means is not a rectangular array"):
        HMM([1.0], [[1.0]], [[1.0]], [[[1.0], [2.0, 3.0]]], [[[1.0]]])


def test_no_state_is_an_error():
    with pytest.raises(ValueError, match="means is empty"):
        HMM(np.ones(0), np.ones((0, 0)), np.ones((0, 1)), np.ones((0, 1, 2)), np.ones((0, 1, 2)))


def test_indefinite_and_asymmetric_covariances_are_named():
    h3m = random_h3m(np.random.default_rng(0), K=2, S=3, M=2, d=2, full=True)
    indefinite = changed(h3m.covars, (1, 0, 1), [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"covars\[1, 0, 1\] is not positive definite \(.* -1\)"):
        replaced(h3m, covars=indefinite)
    skewed = changed(h3m.covars, (0, 2, 0, 0, 1), 7.0)
    with pytest.raises(ValueError, match=r"covars\[0, 2, 0\] is not symmetric"):
        replaced(h3m, covars=skewed)


def test_any_container_of_the_same_numbers_gives_the_same_model(tmp_path):
    means = np.arange(12.0).reshape(2, 2, 3)
    np.save(tmp_path / "means.npy", means)
    frozen = means.copy()
    frozen.flags.writeable = False
    wide = np.repeat(means, 2, axis=-1)

    def build(m):
        return HMM([1, 0], np.eye(2), np.full((2, 2), 0.5), m, np.ones((2, 2, 3)))

    for same in (
        np.asfortranarray(means),
        frozen,
        np.load(tmp_path / "means.npy", mmap_mode="r"),
        wide[..., ::2],
        means.astype(">f8"),
        means.astype(np.float32),
        means.astype(np.longdouble),
        means.astype(np.uint8),
        means.astype(object),
        np.ma.array(means),
        means.tolist(),
        tuple(means),
    ):
        assert build(same) == build(means)
    assert build(means > 3) == build((means > 3).astype(float))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((2, 1, 2)) + 1j, "means is not a rectangular array of real numbers.*complex"),
        (np.full((2, 1, 2), "1"), "means is not a rectangular array of real numbers"),
        (np.zeros((2, 1, 2), "M8[s]"), "means is not a rectangular array of real numbers"),
        (np.zeros((2, 1, 2), [("a", "f8")]), "means is not a rectangular array"),
        (np.full((2, 1, 2), None), r"means\[0, 0, 0\] is nan"),
        (np.ma.masked_equal([[[0, 1]], [[2, 3]]], 1), "means has masked entries"),
        ([np.ma.masked_equal([[0, 1]], 1), [[2, 3]]], "means has masked entries"),
        (np.full((2, 1, 2), np.longdouble("1e4000")), r"means\[0, 0, 0\] is inf"),
        (None, "means"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_named(value, message):
    with pytest.raises(ValueError, match=message):
        HMM([1, 0], np.eye(2), np.ones((2, 1)), value, np.ones((2, 1, 2)))


def test_arrays_are_copies_and_read_only_even_after_pickling():
    means = np.zeros((1, 1, 2))
    hmm = HMM([1.0], [[1.0]], [[1.0]], means, np.ones((1, 1, 2)))
    means[:] = 5.0
    assert (hmm.means == 0).all()
    for model in (hmm, pickle.loads(pickle.dumps(hmm))):
        with pytest.raises(ValueError, match="read-only"):
            model.means[0, 0, 0] = 1.0
    with pytest.raises(AttributeError):
        hmm.means = means


def test_components_are_the_stacked_models():
    rng = np.random.default_rng(1)
    hmms = [random_hmm(rng, 3, 2, 4) for _ in range(3)]
    h3m = H3M.from_hmms(hmms)
    assert len(h3m) == 3
    for hmm, component in zip(hmms, h3m, strict=True):
        for name in PARAMETERS:
            np.testing.assert_array_equal(getattr(component, name), getattr(hmm, name))
    np.testing.assert_array_equal(h3m[-1].means, hmms[-1].means)
    with pytest.raises(IndexError, match="component 3 of a mixture of 3 HMMs"):
        h3m[3]
    np.testing.assert_allclose(h3m.weights, 1 / 3)


@pytest.mark.parametrize(
    ("key", "chosen"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None), [0, 1, 2, 3]),
        (slice(None, None, -2), [3, 1]),
        ([2, 0], [2, 0]),
        ((3, 3), [3, 3]),
        (np.array([-1, 1], dtype=np.int8), [3, 1]),
        (np.array([False, True, True, False]), [1, 2]),
        ([True, False, False, True], [0, 3]),
    ],
)
def test_chosen_components_are_a_mixture(key, chosen):
    h3m = random_h3m(np.random.default_rng(0), K=4, S=2, M=2, d=3)
    part = h3m[key]
    assert list(part) == [h3m[k] for k in chosen]
    np.testing.assert_allclose(part.weights, h3m.weights[chosen] / h3m.weights[chosen].sum())
    assert (part == h3m) == (chosen == [0, 1, 2, 3])


def test_wrong_choice_of_components_is_named():
    h3m = random_h3m(np.random.default_rng(0), K=3, S=2, M=1, d=2, weights=[0.0, 0.0, 1.0])
    for key, error, message in [
        ("a", TypeError, "component index is"),
        (1.0, TypeError, "component index is"),
        (True, TypeError, "component index is"),
        ([[0, 1]], TypeError, "component index is"),
        ([0, 3], IndexError, "in a mixture of 3 HMMs"),
        ([True, False], IndexError, "in a mixture of 3 HMMs"),
        ([], ValueError, "no component is chosen"),
        (slice(3, 1), ValueError, "no component is chosen"),
        (slice(0, 2), ValueError, r"the components \[0, 1\] have no weight"),
    ]:
        with pytest.raises(error, match=message):
            h3m[key]


def test_equal_models_are_equal_however_they_were_made(tmp_path):
    h3m = random_h3m(np.random.default_rng(0), K=2, S=3, M=2, d=2)
    hmm = h3m[0]
    for model in (h3m, hmm):
        model.save(tmp_path / "model")
        for again in (
            copy.copy(model),
            copy.deepcopy(model),
            pickle.loads(pickle.dumps(model)),
            type(model).load(tmp_path / "model"),
            replaced(model),
        ):
            assert again == model
            assert hash(again) == hash(model)
        assert model != replaced(model, means=model.means + 1e-9)
    assert hmm != h3m
    assert hmm != h3m[:1]
    assert hmm in h3m
    zero = HMM([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])
    assert zero == replaced(zero, means=-zero.means)
    assert len({zero, replaced(zero, means=-zero.means)}) == 1


def test_bad_stack_is_named():
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="hmms is empty"):
        H3M.from_hmms([])
    with pytest.raises(ValueError, match=r"hmms\[1\] has 4 features, hmms\[0\] has 3"):
        H3M.from_hmms([random_hmm(rng, 2, 1, 3), random_hmm(rng, 2, 1, 4)])
    with pytest.raises(TypeError, match=r"hmms\[0\] is a int"):
        H3M.from_hmms([3])


# --- padding ------------------------------------------------------------------------------------


def test_padding_changes_no_likelihood_and_trim_takes_it_off():
    rng = np.random.default_rng(2)
    small, large = random_hmm(rng, 2, 1, 3), random_hmm(rng, 4, 3, 3, full=True)
    h3m = H3M.from_hmms([small, large])
    assert (h3m.n_states, h3m.n_mix, h3m.covariance_type) == (4, 3, "full")
    sequences = [rng.normal(size=(n, 3)) for n in (1, 5, 30)]
    log_likelihoods = h3m.component_log_likelihoods(sequences)
    np.testing.assert_allclose(log_likelihoods[:, 0], small.score_samples(sequences), rtol=1e-13)
    np.testing.assert_allclose(log_likelihoods[:, 1], large.score_samples(sequences), rtol=1e-13)
    posterior = h3m[0].posterior(sequences[2])
    np.testing.assert_array_equal(posterior[:, 2:], 0.0)
    np.testing.assert_allclose(posterior[:, :2], small.posterior(sequences[2]), atol=1e-12)
    trimmed = h3m[0].trim()
    assert (trimmed.n_states, trimmed.n_mix) == (2, 1)
    for name in PARAMETERS[:-1]:
        np.testing.assert_array_equal(getattr(trimmed, name), getattr(small, name))
    _, states = h3m[0].sample(50, 20, random_state=0)
    assert states.max() < 2


def test_trim_keeps_the_distribution():
    rng = np.random.default_rng(3)
    base = random_hmm(rng, 4, 3, 2)
    # State 3 has no way in; Gaussian 1 of state 0 and Gaussians 0 and 2 of state 1 never occur.
    startprob = np.array([0.6, 0.4, 0.0, 0.0])
    transmat = base.transmat.copy()
    transmat[:3, 3] = 0
    transmat /= transmat.sum(1, keepdims=True)
    weights = base.weights.copy()
    weights[0, 1] = weights[1, 0] = weights[1, 2] = weights[2, 2] = 0
    weights /= weights.sum(1, keepdims=True)
    hmm = HMM(startprob, transmat, weights, base.means, base.covars)
    trimmed = hmm.trim()
    assert (trimmed.n_states, trimmed.n_mix) == (3, 2)
    sequences = [rng.normal(size=(15, 2))]
    np.testing.assert_allclose(
        trimmed.score_samples(sequences), hmm.score_samples(sequences), rtol=1e-13
    )


# --- sampling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_sample_moments(full):
    """Frequencies and moments of 40,000 draws agree with the parameters to 5 standard errors."""
    rng = np.random.default_rng(4)
    h3m = random_h3m(rng, K=2, S=2, M=2, d=2, full=full, spread=3.0)
    n = 40_000
    observations, components, states = h3m.sample(n, 2, random_state=5)
    assert observations.shape == (n, 2, 2)
    se = 5 * 0.5 / np.sqrt(n)
    assert abs(components.mean() - h3m.weights[1]) < se
    start = (h3m.weights[:, None] * h3m.startprob).sum(0)
    assert abs(states[:, 0].mean() - start[1]) < se
    first = (components == 1) & (states[:, 0] == 0)
    assert abs(states[first, 1].mean() - h3m.transmat[1, 0, 1]) < 5 * 0.5 / np.sqrt(first.sum())
    drawn = observations[first, 0]
    c, mu = h3m.mixture_weights[1, 0], h3m.means[1, 0]
    covars = h3m.covars[1, 0] if full else h3m.covars[1, 0][..., None] * np.eye(2)
    mean = c @ mu
    covariance = np.einsum("m,mab->ab", c, covars) + np.einsum(
        "m,ma,mb->ab", c, mu - mean, mu - mean
    )
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * scale.max() / np.sqrt(len(drawn)))
    error = 5 * np.outer(scale, scale).max() * np.sqrt(3 / len(drawn))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=error)


def test_sample_depends_on_the_seed_only():
    hmm = random_hmm(np.random.default_rng(0), 3, 2, 2)
    first, states = hmm.sample(3, 7, random_state=1)
    again, _ = hmm.sample(3, 7, random_state=np.random.SeedSequence(1))
    np.testing.assert_array_equal(first, again)
    assert (hmm.sample(3, 7, random_state=2)[0] != first).all()
    assert states.shape == (3, 7)
    legacy = [hmm.sample(3, 7, random_state=np.random.RandomState(3))[0] for _ in range(2)]
    np.testing.assert_array_equal(*legacy)
    assert hmm.sample(0, 7)[0].shape == (0, 7, 2)
    with pytest.raises(ValueError, match="length is 0"):
        hmm.sample(1, 0)
    with pytest.raises(ValueError, match="n_sequences is -1"):
        hmm.sample(-1, 5)


def test_sample_never_visits_what_has_probability_zero():
    hmm = left_right_hmm(np.random.default_rng(0), 4, 1, 2)
    _, states = hmm.sample(200, 30, random_state=0)
    assert (states[:, 0] == 0).all()
    steps = np.diff(states, axis=1)
    assert set(np.unique(steps)) == {0, 1}


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_file_round_trip_is_exact_and_its_bytes_depend_on_the_model_only(tmp_path, full):
    rng = np.random.default_rng(6)
    for model in (random_h3m(rng, 3, 2, 2, 3, full), random_hmm(rng, 2, 2, 3, full)):
        path = tmp_path / "model"
        model.save(path)
        loaded = type(model).load(path)
        for name in model.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        loaded.save(tmp_path / "again")
        assert path.read_bytes() == (tmp_path / "again").read_bytes()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "model"]


def npz(path, **arrays):
    """A file like those of ``save``, of the arrays given."""
    np.savez(path, **arrays)
    return path.read_bytes()


def npy(descr, shape, n_bytes):
    """An array file whose header may promise more than there is."""
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return (
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(n_bytes)
    )


def exchanged(path, compression=zipfile.ZIP_STORED, **members):
    """The content of a saved model with some of its members exchanged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(buffer, "w", compression) as out:
        for name in whole.namelist():
            out.writestr(name, members.get(name.removesuffix(".npy"), whole.read(name)))
    return buffer.getvalue()


def test_unreadable_files_are_one_error_that_names_the_file(tmp_path):
    h3m = random_h3m(np.random.default_rng(7), 3, 2, 2, 3)
    path = tmp_path / "model.npz"
    h3m.save(path)
    whole = path.read_bytes()
    arrays = {name: getattr(h3m, name) for name in h3m.__dataclass_fields__}
    marks = {"format": "vhem.H3M", "format_version": 1}
    flipped = bytearray(whole)
    with zipfile.ZipFile(path) as archive:
        flipped[archive.getinfo("means.npy").header_offset + 300] ^= 0xFF
    other = tmp_path / "other.npz"
    not_whole = "not a whole vhem.H3M file"
    for content, reason in [
        (whole[: len(whole) // 2], not_whole),
        (whole[:-30], not_whole),
        (bytes(flipped), not_whole),
        (b"", not_whole),
        (bytes(5000), not_whole),
        (b"no archive at all", not_whole),
        (pickle.dumps(h3m), not_whole),
        (npz(other, format=np.array(["x", object()], dtype=object)), not_whole),
        (exchanged(path, zipfile.ZIP_DEFLATED), not_whole),
        (exchanged(path, means=npy("<f8", (10**12,), 64)), not_whole),
        (exchanged(path, means=npy("<f8", (2**62, 4), 64)), not_whole),
        (exchanged(path, means=npy("|O", (3,), 24)), not_whole),
        (exchanged(path, means=npy("<c16", (3, 2, 2, 3), 576)), not_whole),
        (exchanged(path, means=npy("<f8", (3, 2, 2, -3), 288)), not_whole),
        (exchanged(path, means=npy(">f8", (3, 2, 2, 3), 288)), "not those that were saved"),
        (npz(other, means=h3m.means), "it has no format mark"),
        (npz(other, **marks, means=h3m.means), r"lacks the array\(s\) weights, startprob"),
        (npz(other, **{**marks, "format_version": 99}), "99 is newer than this library reads"),
        (npz(other, **{**marks, "format_version": 1.5}), "1.5 is no version"),
        (npz(other, **marks, **{**arrays, "weights": np.ones(3)}), "weights sums to 3, expected 1"),
        (npz(other, **{**marks, "format": "vhem.HMM"}), "holds vhem.HMM, expected vhem.H3M"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=rf"model.npz: .*{reason}") as caught:
            H3M.load(path)
        assert caught.value.path == path
    with pytest.raises(ModelFileError, match="is a folder"):
        H3M.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        H3M.load(tmp_path / "absent.npz")
    copied = pickle.loads(pickle.dumps(caught.value))
    assert str(copied) == str(caught.value)


def test_failed_save_leaves_the_old_model_and_nothing_else(tmp_path, monkeypatch):
    old, new = (random_hmm(np.random.default_rng(seed), 2, 1, 2) for seed in (0, 1))
    path = tmp_path / "model"
    old.save(path)
    monkeypatch.setattr(np.lib.format, "write_array", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        new.save(path)
    assert HMM.load(path) == old
    assert list(tmp_path.iterdir()) == [path]


def test_import_is_light():
    """It loads nothing of the workflow; pandas is scikit-learn's choice, not ours."""
    code = (
        "import sys\n"
        "sys.modules['pandas'] = None\n"
        "import vhem\n"
        "heavy = {'snakemake', 'librosa', 'matplotlib', 'skimage', 'replication',"
        " 'sliced_wasserstein'}\n"
        "loaded = heavy & {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded, loaded\n"
        "assert all(hasattr(vhem, name) for name in vhem.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

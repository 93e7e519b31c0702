"""The cross-validation learns nothing from test rows and scores what scikit-learn would."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from replication.images import svm
from replication.images.matrices import (
    TrainTemplate,
    compare_densities,
    compare_embeddings,
    compare_hog,
)
from replication.images.multiclass import SCHEMES, machine
from replication.registry import MULTICLASS_SCHEMES
from sliced_wasserstein import SlicedWassersteinEmbedding, median_squared_distance

GRID = svm.Grid(C=(0.1, 1.0, 10.0, 100.0), gamma=(0.1, 1.0, 10.0), degree=(1, 2, 3))
N_CLASSES = 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_CLASSES), 12)
    points = rng.normal(size=(N_CLASSES, 8))[labels] + rng.normal(size=(len(labels), 8))
    gram = points @ points.T
    norms = np.diagonal(gram)
    distance = np.maximum(norms[:, None] + norms - 2 * gram, 0)
    matrices = {
        name: gram if "gram" in name else distance
        for name in {family.matrix for family in svm.FAMILIES.values()}
    }
    return points, labels, matrices


def run(matrices, labels, methods, grid=GRID, **settings):
    settings = {"repeats": [0], "seed": 1, "experiment": "test", **settings}
    return svm.cross_validate(lambda name, train: matrices[name], labels, methods, grid, **settings)


def accuracies(rows):
    return [row["value"] for row in rows if row["metric"] == "accuracy"]


def test_equals_grid_search_on_vectors(data):
    points, labels, matrices = data
    rows = run(matrices, labels, ["linear"])
    state = rows[0]["seed"]
    expected = []
    for fold, (train, test) in enumerate(
        StratifiedKFold(5, shuffle=True, random_state=state).split(points, labels)
    ):
        scaled = points / np.linalg.norm(points[train], axis=1).mean()
        inner = StratifiedKFold(3, shuffle=True, random_state=state + fold + 1)
        search = GridSearchCV(SVC(kernel="linear"), {"C": GRID.C}, cv=inner)
        search.fit(scaled[train], labels[train])
        expected.append(search.score(scaled[test], labels[test]))
    assert accuracies(rows) == pytest.approx(expected)


N_KINDS, SIDE = 4, 16
TRANSPORT = {"n_angles": 12, "n_quantiles": 32}


def hills(n_each, seed=0):
    """Densities of kinds that differ in where mass lies, how far it spreads and its grain."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    images = []
    for kind in np.repeat(np.arange(N_KINDS), n_each):
        row, column = 5 + 2 * np.array([kind // 2, kind % 2]) + rng.normal(scale=0.7, size=2)
        width = 4 + 3 * kind + rng.uniform(0, 2)
        hill = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / width)
        images.append(hill + 0.02 + 0.3 * hill * rng.gamma(1.0, size=hill.shape))
    images = np.array(images)
    return (images / images.sum(axis=(1, 2), keepdims=True)).astype(np.float32)


def matrices_of(densities):
    """All matrices of the workflow, of which one knows the training rows."""
    embedding = SlicedWassersteinEmbedding(**TRANSPORT).fit_transform(densities)
    gradients = np.concatenate(
        [step.reshape(len(densities), -1) for step in np.gradient(densities, axis=(1, 2))], axis=1
    )
    matrices = {
        **compare_densities(densities, beyond_paper=True),
        **compare_embeddings(embedding, TRANSPORT["n_angles"]),
        **compare_hog(gradients),
    }
    return TrainTemplate(matrices, densities, embedding, TRANSPORT)


def test_shuffled_labels_give_chance_for_every_kernel():
    """Golden test 22: whatever leaks from test rows would be learnt from labels of noise too."""
    n_each = 15
    matrix_of = matrices_of(hills(n_each))
    kinds = np.repeat(np.arange(N_KINDS), n_each)
    grid = svm.Grid(C=(1.0, 100.0), gamma=(0.25, 4.0), degree=(1, 2))
    settings = {"repeats": [0], "n_inner_folds": 2, "seed": 1, "experiment": "test"}

    def mean_accuracies(labels):
        rows = svm.cross_validate(matrix_of, labels, svm.FAMILIES, grid, **settings)
        return {
            method: np.mean(accuracies([row for row in rows if row["method"] == method]))
            for method in svm.FAMILIES
        }

    # There is something to learn for each of them.
    assert min(mean_accuracies(kinds).values()) > 2 / N_KINDS
    rng = np.random.default_rng(3)
    # Four permutations: 240 guesses, whose mean has a standard error of a ninth of chance.
    shuffled = [mean_accuracies(rng.permutation(kinds)) for _ in range(4)]
    for method in svm.FAMILIES:
        assert np.mean([scores[method] for scores in shuffled]) < 1.5 / N_KINDS, method


@pytest.mark.parametrize("method", sorted(svm.FAMILIES))
def test_no_test_row_enters_a_fitted_quantity(data, method):
    """Whatever stands among the test rows themselves, predictions of the others stay."""
    _, labels, matrices = data
    family = svm.FAMILIES[method]
    train, test = svm.stratified_folds(labels, None, 5, 0)[0]
    inner = svm.stratified_folds(labels[train], None, 3, 0)
    poisoned = matrices[family.matrix].copy()
    poisoned[np.ix_(test, test)] = np.nan

    def score(matrix, labels):
        choice = svm._choose(family, lambda *_: matrix, labels, train, test, inner, GRID)
        return svm._score_choice(choice, labels[train], labels[test])

    scores = [score(m, labels) for m in (matrices[family.matrix], poisoned)]
    assert scores[0] == scores[1]
    # Labels of test rows decide the score, never the choices.
    relabelled = labels.copy()
    relabelled[test] = N_CLASSES + 1
    blind = score(poisoned, relabelled)
    assert blind["accuracy"] == 0
    assert {**blind, "accuracy": None} == {**scores[0], "accuracy": None}


def choose(family, matrix_of, labels, train, test):
    """Return what was chosen, the kernel of the training part, and predictions of test rows."""
    inner = svm.stratified_folds(labels[train], None, 3, 0)
    choice = svm._choose(family, matrix_of, labels, train, test, inner, GRID)
    predicted = machine(choice.C).fit(choice.square, labels[train]).predict(choice.cross)
    return (choice.C, choice.parameter, choice.on_edge), choice.square, predicted


@pytest.mark.parametrize("method", sorted(svm.FAMILIES))
def test_a_test_row_changes_no_prediction_but_its_own(data, method):
    _, labels, matrices = data
    family = svm.FAMILIES[method]
    train, test = svm.stratified_folds(labels, None, 5, 0)[0]
    matrix = matrices[family.matrix]
    chosen, square, predicted = choose(family, lambda *_: matrix, labels, train, test)
    # As a copy of training rows of one class after the other, and as something far from all.
    strangers = [matrix[train[np.argmax(labels[train] == label)]] for label in range(N_CLASSES)]
    own = set()
    for row in [*strangers, 100 * matrix.max() + 0 * matrix[0]]:
        altered = matrix.copy()
        altered[test[0], :] = altered[:, test[0]] = row
        found = choose(family, lambda *_, m=altered: m, labels, train, test)
        assert found[0] == chosen
        np.testing.assert_array_equal(found[1], square)
        np.testing.assert_array_equal(found[2][1:], predicted[1:])
        own.add(found[2][0])
    assert len(own) > 1, "the altered row is not read at all"


@pytest.mark.parametrize(
    "method", sorted(m for m, family in svm.FAMILIES.items() if family.matrix != "sw_gram")
)
def test_an_exchanged_test_image_changes_no_prediction_but_its_own(method):
    """Through all matrices; those of sw_gram have all images' template, as configured."""
    family = svm.FAMILIES[method]
    densities, labels = hills(6), np.repeat(np.arange(N_KINDS), 6)
    train, test = svm.stratified_folds(labels, None, 3, 0)[0]
    exchanged = densities.copy()
    # All mass in a corner, which moves the mean of all images.
    exchanged[test[0]] = 1e-5
    exchanged[test[0], 0, 0] = 1
    exchanged[test[0]] /= exchanged[test[0]].sum()
    before, after = (
        choose(family, matrices_of(images), labels, train, test)
        for images in (densities, exchanged)
    )
    assert before[0] == after[0]
    # Embeddings are stored in single precision, relative to the mean of all images.
    np.testing.assert_allclose(after[1], before[1], rtol=1e-4, atol=1e-5 * before[1].max())
    np.testing.assert_array_equal(after[2][1:], before[2][1:])


def test_other_schemes_are_other_machines_on_the_same_splits():
    matrix_of, labels = matrices_of(hills(8)), np.repeat(np.arange(N_KINDS), 8)
    order = np.random.default_rng(6).permutation(len(labels))
    # A third of the labels are wrong, so that folds differ.
    labels[order[:10]] = labels[order[1:11]]
    grid = svm.Grid(C=(0.1, 1.0, 10.0), gamma=(0.25, 4.0), degree=(1, 2))
    methods = ["linear", "sw_gaussian", "sw_polynomial_1_train"]
    settings = {"repeats": [1, 3], "n_folds": 4, "seed": 2, "experiment": "test"}
    alone = svm.cross_validate(matrix_of, labels, methods, grid, **settings)
    rows = svm.cross_validate(
        matrix_of,
        labels,
        methods,
        grid,
        **settings,
        multiclass_methods=["linear", "sw_polynomial_1_train"],
        multiclass_repeats=3,
    )
    assert [row for row in rows if "variant" not in row] == alone
    key = ("method", "repeat", "fold", "seed", "value")
    votes = [
        tuple(row[k] for k in key)
        for row in alone
        if row["metric"] == "accuracy" and row["method"] != "sw_gaussian" and row["repeat"] < 3
    ]
    assert len(votes) == 4 * 2
    found = {
        scheme: [tuple(row[k] for k in key) for row in rows if row.get("variant") == scheme]
        for scheme in SCHEMES
    }
    assert set(SCHEMES) == set(MULTICLASS_SCHEMES[1:])
    for scheme in SCHEMES:
        assert [row[:-1] for row in found[scheme]] == [row[:-1] for row in votes]
    assert found["one_vs_rest"] != votes


def test_raw_grids_are_in_units_of_the_data():
    """A distance 4 times as large: the same machines with a quarter of gamma, if it is raw."""
    labels = np.repeat(np.arange(N_KINDS), 8)
    matrix_of = matrices_of(hills(8))
    train, _ = next(iter(svm.stratified_folds(labels, None, 4, 0)))
    median = median_squared_distance(matrix_of("sw_distance", train)[np.ix_(train, train)])

    def scores(factor, gamma, scale):
        def scaled(name, train):
            return factor * matrix_of(name, train)

        grid = svm.Grid((1.0, 10.0), gamma, (1,), scale)
        settings = {"repeats": [0], "n_folds": 4, "seed": 0, "experiment": "test"}
        rows = svm.cross_validate(scaled, labels, ["sw_gaussian"], grid, **settings)
        return [row["value"] for row in rows if row["metric"] == "accuracy"]

    gamma = np.array([0.01, 0.25])
    assert scores(1.0, gamma, "relative") == scores(4.0, gamma, "relative")
    assert scores(1.0, gamma / median, "raw") == scores(4.0, gamma / median / 4, "raw")
    assert scores(1.0, gamma * 1e9, "raw") != scores(4.0, gamma / median / 4, "raw")


def test_matrix_is_asked_for_with_training_rows_only(data):
    _, labels, matrices = data
    asked = []

    def matrix_of(name, train):
        asked.append(len(train))
        return matrices[name]

    svm.cross_validate(matrix_of, labels, ["linear"], GRID, repeats=[0], seed=0, experiment="test")
    assert asked == [48] * 5


def test_order_of_the_samples_does_not_change_what_is_learnt(data):
    _, labels, matrices = data
    gram = matrices["density_gram"]
    order = np.random.default_rng(5).permutation(len(labels))
    train, test = svm.stratified_folds(labels, None, 5, 0)[0]
    place = np.argsort(order)
    scores = []
    for m, y, tr, te in [
        (gram, labels, train, test),
        (gram[np.ix_(order, order)], labels[order], place[train], place[test]),
    ]:
        inner = svm.stratified_folds(y[tr], None, 3, 0)
        family = svm.FAMILIES["linear"]
        choice = svm._choose(family, lambda name, rows, m=m: m, y, tr, te, inner, GRID)
        scores.append(svm._score_choice(choice, y[tr], y[te]))
    assert scores[0] == scores[1]


def test_a_repetition_does_not_depend_on_its_block(data):
    _, labels, matrices = data
    together = run(matrices, labels, ["linear", "rbf"], repeats=[0, 1, 2])
    apart = run(matrices, labels, ["linear", "rbf"], repeats=[2])
    assert [row for row in together if row["repeat"] == 2] == apart


def test_units_do_not_matter(data):
    _, labels, matrices = data
    scaled = {name: 1e-6 * matrix for name, matrix in matrices.items()}
    methods = ["rbf", "polynomial_1", "linear"]
    assert accuracies(run(matrices, labels, methods)) == pytest.approx(
        accuracies(run(scaled, labels, methods))
    )


def test_groups_stay_together():
    labels = np.repeat([0, 1], 20)
    groups = np.arange(40)
    groups[[3, 9]] = 3
    groups[[21, 30, 35]] = 21
    for train, test in svm.stratified_folds(labels, groups, 5, 0):
        assert not set(groups[train]) & set(groups[test])
        assert np.bincount(labels[test]).min() >= 3


def test_a_class_smaller_than_the_folds_is_named():
    with pytest.raises(ValueError, match="class 'b' has 3 members, too few for 5 folds"):
        svm.stratified_folds(np.array(["a"] * 9 + ["b"] * 3), None, 5, 0)


def test_a_class_of_copies_is_named():
    labels = np.array(["a"] * 9 + ["b"] * 5)
    groups = np.array([*range(9), 9, 9, 9, 10, 11])
    with pytest.raises(
        ValueError, match="class 'b' has 3 members that are no copies of each other"
    ):
        svm.stratified_folds(labels, groups, 4, 0)
    assert len(svm.stratified_folds(labels, groups, 3, 0)) == 3


def test_a_class_that_no_machine_is_shown_is_named():
    """Copies across classes can leave no other partition to a splitter that keeps them together."""
    labels = np.array(list("aabaabbbba"))
    groups = np.array([2, 0, 0, 2, 2, 1, 1, 1, 1, 2])
    with pytest.raises(ValueError, match="class 'a' is missing from the training part of fold 0"):
        svm.stratified_folds(labels, groups, 2, 0)


def test_nested_folds_work_for_a_class_of_eight(data):
    """As the scenes of the animal faces: 5 folds of 8 images, 3 of what is left."""
    rng = np.random.default_rng(2)
    labels = np.repeat(["cat", "dog", "scene"], [40, 30, 8])
    groups = np.arange(78)
    groups[71] = 70
    points = rng.normal(size=(78, 4)) + 3 * (labels == "scene")[:, None]
    rows = run({"density_gram": points @ points.T}, labels, ["linear"], groups=groups)
    assert len(accuracies(rows)) == 5


def test_copies_across_folds_would_show(data):
    """Labels of noise cannot be learnt, but copies can be recognised unless they stay together."""
    rng = np.random.default_rng(4)
    originals = rng.normal(size=(60, 200))
    labels = np.tile(rng.permutation(np.repeat([0, 1], 30)), 2)
    points = np.concatenate([originals, originals])
    matrices = {"density_gram": points @ points.T}
    apart = np.mean(accuracies(run(matrices, labels, ["linear"])))
    together = np.mean(
        accuracies(run(matrices, labels, ["linear"], groups=np.tile(np.arange(60), 2)))
    )
    assert apart > 0.8
    assert together < 0.7


def test_stopping_the_path_early_changes_nothing(data, monkeypatch):
    _, labels, matrices = data
    early = run(matrices, labels, ["rbf", "polynomial"])

    def full_path(kernel, y, cross, truth, Cs):
        return np.array(
            [np.mean(svm.machine(C).fit(kernel, y).predict(cross) == truth) for C in Cs]
        )

    monkeypatch.setattr(svm, "_accuracy_path", full_path)
    assert run(matrices, labels, ["rbf", "polynomial"]) == early


@pytest.mark.parametrize("noise", [0.5, 1.5, 4.0])
def test_search_that_skips_cells_chooses_what_the_whole_grid_would(data, noise):
    _, labels, _ = data
    rng = np.random.default_rng(4)
    points = rng.normal(size=(N_CLASSES, 4))[labels] + noise * rng.normal(size=(len(labels), 4))
    distance = ((points[:, None] - points) ** 2).sum(axis=-1)
    grid = svm.Grid(C=(0.01, 0.1, 1.0, 10.0, 100.0, 1e3), gamma=(0.01, 0.1, 1.0, 10.0), degree=())
    rows = run({"density_distance": distance}, labels, ["rbf"], grid)
    chosen = [
        (C["value"], parameter["value"])
        for C, parameter in zip(rows[1::4], rows[2::4], strict=True)
    ]
    expected = []
    for state in dict.fromkeys(row["seed"] for row in rows):
        outer = StratifiedKFold(5, shuffle=True, random_state=state)
        for fold, (train, _) in enumerate(outer.split(points, labels)):
            gamma = np.array(grid.gamma) / median_squared_distance(distance[np.ix_(train, train)])
            inner = StratifiedKFold(3, shuffle=True, random_state=state + fold + 1)
            search = GridSearchCV(SVC(), {"C": grid.C, "gamma": gamma}, cv=inner)
            best = search.fit(points[train], labels[train]).best_params_
            expected.append((best["C"], grid.gamma[list(gamma).index(best["gamma"])]))
    assert chosen == expected


def test_search_does_not_train_cells_that_cannot_win(data, monkeypatch):
    _, labels, _ = data
    # Any machine that looks at more than one neighbour is right.
    distance = 1.0 * (labels[:, None] != labels) + 1e-3
    np.fill_diagonal(distance, 0)
    trained = []
    path = svm._accuracy_path
    monkeypatch.setattr(
        svm, "_accuracy_path", lambda *args: trained.append(len(args[-1])) or path(*args)
    )
    # With distances of a thousand units all kernel values but the diagonal vanish: chance.
    grid = svm.Grid(C=(1.0, 10.0), gamma=(1.0, 1e7), degree=())
    run({"density_distance": distance}, labels, ["rbf"], grid)
    assert sum(trained) == 5 * (4 + 2 + 2)


@pytest.mark.parametrize(
    ("method", "words"),
    [("rbf", "'density_distance' has no scale: its median distance is 0"),
     ("linear", "'density_gram' has no scale: its mean norm is 0")],
)  # fmt: skip
def test_equal_images_have_no_scale(data, method, words):
    _, labels, matrices = data
    with pytest.raises(ValueError, match=words):
        run({name: np.zeros_like(matrix) for name, matrix in matrices.items()}, labels, [method])


def test_a_matrix_that_is_not_finite_is_named(data):
    _, labels, matrices = data
    broken = matrices["density_gram"].copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match="'density_gram' contains values that are NaN"):
        run({**matrices, "density_gram": broken}, labels, ["linear"])

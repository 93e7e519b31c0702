"""The cross-validation learns nothing from test rows and scores what scikit-learn would."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from replication.protocols import svm
from sliced_wasserstein import median_squared_distance

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


def test_shuffled_labels_give_chance_for_every_kernel(data):
    _, labels, matrices = data
    shuffled = np.random.default_rng(3).permutation(labels)
    grid = svm.Grid(C=(1.0, 100.0), gamma=(0.1, 1.0), degree=(1, 2))
    rows = run(matrices, shuffled, svm.FAMILIES, grid, repeats=range(2))
    for method in svm.FAMILIES:
        scores = accuracies([row for row in rows if row["method"] == method])
        assert np.mean(scores) < 2.2 / N_CLASSES, method


@pytest.mark.parametrize("method", sorted(svm.FAMILIES))
def test_no_test_row_enters_a_fitted_quantity(data, method):
    """Whatever stands among the test rows themselves, predictions of the others stay."""
    _, labels, matrices = data
    family = svm.FAMILIES[method]
    train, test = svm.stratified_folds(labels, None, 5, 0)[0]
    inner = svm.stratified_folds(labels[train], None, 3, 0)
    poisoned = matrices[family.matrix].copy()
    poisoned[np.ix_(test, test)] = np.nan
    scores = [
        svm._score_fold(family, lambda name, rows, m=m: m, labels, train, test, inner, GRID)
        for m in (matrices[family.matrix], poisoned)
    ]
    assert scores[0] == scores[1]
    # Labels of test rows decide the score, never the choices.
    relabelled = labels.copy()
    relabelled[test] = N_CLASSES + 1
    blind = svm._score_fold(
        family, lambda name, rows: poisoned, relabelled, train, test, inner, GRID
    )
    assert blind["accuracy"] == 0
    assert {**blind, "accuracy": None} == {**scores[0], "accuracy": None}


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
        scores.append(svm._score_fold(family, lambda name, rows, m=m: m, y, tr, te, inner, GRID))
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
    rows = run({"density_distance": distance}, labels, ["rbf"], grid, repeats=range(3))
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


def test_a_matrix_that_is_not_finite_is_named(data):
    _, labels, matrices = data
    broken = matrices["density_gram"].copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match="'density_gram' contains values that are NaN"):
        run({**matrices, "density_gram": broken}, labels, ["linear"])

"""From sequences to clusters of hidden Markov models, and what the numbers mean.

Run with ``python docs/tutorials/clustering_hmms.py``; a test runs it too. Every step prints what it
found.
"""

import tempfile
from pathlib import Path

import numpy as np

from vhem import EMH3M, H3M, HMM, VHEM, expected_log_likelihood

rng = np.random.default_rng(0)

# --- 1. Sequences ------------------------------------------------------------------------------
#
# Three kinds of two-dimensional sequences. The first two visit the same two places and differ only
# in how they move between them (long stays, quick changes); the third lives elsewhere. A clustering
# of averages cannot tell the first two apart.

places = np.array([[[0.0, 0.0]], [[4.0, 1.0]]])  # (states, Gaussians, features)
one = np.ones((2, 1))
kinds = {
    "long stays": HMM([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], one, places, np.ones((2, 1, 2))),
    "quick changes": HMM([0.5, 0.5], [[0.2, 0.8], [0.8, 0.2]], one, places, np.ones((2, 1, 2))),
    "elsewhere": HMM([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], one, places + 6, np.ones((2, 1, 2))),
}
sequences, truth = [], []
for label, hmm in enumerate(kinds.values()):
    for _ in range(12):
        observations, _ = hmm.sample(1, length=int(rng.integers(150, 250)), random_state=rng)
        sequences.append(observations[0])
        truth.append(label)
truth = np.array(truth)
print(f"{len(sequences)} sequences, {sum(map(len, sequences))} observations")

# --- 2. One HMM per sequence -------------------------------------------------------------------
#
# EMH3M with one component is an ordinary HMM fitted by Baum-Welch from a k-means start. (Models
# fitted with hmmlearn do as well: HMM.from_hmmlearn.)

hmms = [
    EMH3M(n_components=1, n_states=2, random_state=0).fit([sequence]).model_[0]
    for sequence in sequences
]
base = H3M.from_hmms(hmms)
print(base)

# --- 3. Cluster the HMMs -----------------------------------------------------------------------
#
# VHEM sees the 36 models, not the sequences. The numbering of states differs from model to model,
# so k-means on their parameters would compare apples with pears; VHEM compares distributions.

vhem = VHEM(n_components=3, random_state=0).fit(base)
print("M-steps:", vhem.n_iter_, " converged:", vhem.converged_)
for cluster in range(3):
    members = truth[vhem.labels_ == cluster]
    counts = {kind: int((members == k).sum()) for k, kind in enumerate(kinds)}
    print(f"cluster {cluster}: {counts}")
together, alike = vhem.labels_[:, None] == vhem.labels_, truth[:, None] == truth
assert (together == alike).all(), "the clusters are the three kinds"

# Each cluster has a centre: a new HMM that is none of the inputs. Its transitions are those of its
# kind, up to the numbering of the states.
for cluster, centre in enumerate(vhem.model_):
    kind = list(kinds)[truth[vhem.labels_ == cluster][0]]
    print(f"stays in a state with probability {np.diag(centre.transmat).round(2)}: {kind}")

# --- 4. The objective --------------------------------------------------------------------------
#
# history_ is the lower bound after 0, 1, 2, ... M-steps. It never falls. Its size is that of
# 10,000 virtual sequences per model, of 10 observations each, in nats.

assert (np.diff(vhem.history_) >= 0).all()
per_observation = vhem.lower_bound_ / (1e4 * len(base) * 10)
print(f"bound per virtual observation: {per_observation:.3f} nats")

# The same bound for any pair of models. It is below the expected log-likelihood that sampling
# finds, and no divergence: see docs/vhem.md.
bound = expected_log_likelihood(base, vhem.model_, length=10)[0, vhem.labels_[0]]
drawn, _ = base[0].sample(5000, length=10, random_state=1)
sampled = vhem.model_[int(vhem.labels_[0])].score_samples(drawn)
print(f"bound {bound:.2f}, by sampling {sampled.mean():.2f}")
assert bound < sampled.mean() + 4 * sampled.std() / np.sqrt(len(sampled))

# --- 5. New sequences --------------------------------------------------------------------------
#
# The centres are models like any other: they score, sample, decode, and go back to hmmlearn.

new, _ = kinds["quick changes"].sample(5, length=80, random_state=2)
scores = vhem.model_.component_log_likelihoods(new)
print("nearest cluster of five new sequences:", scores.argmax(axis=1))
assert (scores.argmax(axis=1) == vhem.labels_[truth == 1][0]).all()
log_probability, path = vhem.model_[0].decode(new[0])
print("most probable states:", path[:20])
print("as hmmlearn:", vhem.model_.to_hmmlearn()[0])

# --- 6. Keep it --------------------------------------------------------------------------------

with tempfile.TemporaryDirectory() as folder:
    path_of_model = Path(folder) / "centres.npz"
    vhem.model_.save(path_of_model)
    again = H3M.load(path_of_model)
assert (again.means == vhem.model_.means).all()
print("saved and loaded:", again)

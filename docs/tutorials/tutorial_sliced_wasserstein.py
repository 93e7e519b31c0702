"""Distances, kernel PCA and clustering of your own distributions.

Run me: ``python docs/tutorials/tutorial_sliced_wasserstein.py``. Everything here takes a few
seconds and needs only numpy and scikit-learn besides the library. Replace the generators with your
own histograms or point clouds.
"""

import numpy as np
from sklearn.metrics import v_measure_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sliced_wasserstein import (
    KernelKMeans,
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    center_gram,
    gaussian_kernel,
    gram_matrix,
    median_squared_distance,
    sliced_directions,
    sliced_wasserstein_distance,
    sliced_wasserstein_image_distance,
    squared_distances,
)

rng = np.random.default_rng(0)


# -- Your data: 2-D histograms ---------------------------------------------------------------------
# Any array of shape (n, height, width) without negative values will do: histograms, co-occurrence
# matrices, photographs read as densities. Sums need not be 1, zeros are fine. Here: three kinds of
# samples from a correlated Gaussian, each moved a little, counted in 32 x 32 bins.
def histogram(correlation):
    """Count 2,000 points of a Gaussian with unit variances up to scale, and this correlation."""
    covariance = 0.02 * np.array([[1, correlation], [correlation, 1]])
    points = rng.multivariate_normal(rng.uniform(0.48, 0.52, 2), covariance, size=2000)
    return np.histogram2d(points[:, 1], points[:, 0], bins=32, range=[[0, 1], [0, 1]])[0]


kinds = np.repeat([0, 1, 2], 20)
histograms = np.stack([histogram((-0.9, 0.0, 0.9)[kind]) for kind in kinds])

# -- The distance of two of them -------------------------------------------------------------------
# In pixels: how far mass travels, averaged over directions. Two copies of one histogram shifted by
# v pixels are |v| / sqrt(2) apart.
one_pair = sliced_wasserstein_image_distance(histograms[0], histograms[-1])
print("one pair:", round(one_pair, 2), "px")

# -- All of them at once ---------------------------------------------------------------------------
# The embedding turns each histogram into a vector such that Euclidean distances are sliced
# Wasserstein distances. 60 vectors instead of 1770 transport problems.
embedding = SlicedWassersteinEmbedding()
vectors = embedding.fit_transform(histograms)
squared = squared_distances(vectors)
print("the same pair:", round(float(np.sqrt(squared[0, -1])), 2), "px")

# -- Kernel PCA ------------------------------------------------------------------------------------
# The eigenvalues of the centred Gram matrix say how few directions hold the variation.
eigenvalues, eigenvectors = np.linalg.eigh(center_gram(gram_matrix(vectors)))
order = np.argsort(eigenvalues)[::-1]
share = np.maximum(eigenvalues[order], 0) / eigenvalues.sum()
print("variance in 1, 2, 3 components:", np.cumsum(share)[:3].round(3))

# Walk along the first component and come back to histograms: the mean, one standard deviation to
# either side. (Pixels move; they are not cross-faded.)
centred = vectors - vectors.mean(axis=0)
axis = centred.T @ eigenvectors[:, order[0]]
axis /= np.linalg.norm(axis)
steps = np.array([[-1.0], [0.0], [1.0]]) * np.sqrt(eigenvalues[order[0]] / len(vectors))
walk = embedding.inverse_transform(vectors.mean(axis=0) + steps * axis, n_iter=50)
rows, cols = np.indices((32, 32))
print("centre of mass along the axis:", [round(float((image * cols).sum()), 1) for image in walk])

# -- Clustering ------------------------------------------------------------------------------------
# K-means in the space of the Gaussian kernel. The parameter is stated relative to the median
# squared distance, which makes it independent of the unit.
kernel = gaussian_kernel(squared, 1 / median_squared_distance(squared))
clusters = KernelKMeans(n_clusters=3, random_state=0).fit_predict(kernel)
print("V-measure of the clusters:", round(v_measure_score(kinds, clusters), 2))

# -- Classification --------------------------------------------------------------------------------
# The embedding is a scikit-learn transformer: put it in a pipeline, and the template is learned
# from training images only.
model = make_pipeline(SlicedWassersteinEmbedding(n_angles=20, n_quantiles=32), SVC(kernel="linear"))
accuracy = cross_val_score(model, histograms, kinds, cv=3).mean()
print("accuracy of a linear SVM:", round(accuracy, 2))

# -- Point clouds in any dimension -----------------------------------------------------------------
# Positions with optional weights, as many points each as you like; sliced_wasserstein_distance
# compares a pair, reading an array as a list of points. In three dimensions and above directions
# are random orthonormal frames; the seed makes them yours again tomorrow.
clouds = [
    (rng.normal(size=(n, 3)) * scale, rng.random(n))
    for scale in (np.array([3, 1, 1]), np.array([1, 3, 1]))
    for n in rng.integers(50, 200, size=15)
]
shapes = np.repeat([0, 1], 15)
cloud_embedding = PointCloudEmbedding(n_directions=60, random_state=0)
cloud_vectors = cloud_embedding.fit_transform(clouds)
kmeans = KernelKMeans(2, kernel="linear", random_state=0)
found = make_pipeline(cloud_embedding, kmeans).fit_predict(clouds)
print("V-measure of the clouds' clusters:", round(v_measure_score(shapes, found), 2))

# The exact distance at given directions, for a check or for a pair that matters.
exact = sliced_wasserstein_distance(
    clouds[0], clouds[-1], directions=sliced_directions(60, 3, random_state=0)
)
binned = np.linalg.norm(cloud_vectors[0].astype(float) - cloud_vectors[-1])
print(f"exact {exact:.4f}, embedded {binned:.4f}")

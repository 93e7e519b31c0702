r"""Cumulative percent variance (CPV) of kernel principal components (CVPR 2016, Figure 3).

With :math:`\lambda_1 \ge \lambda_2 \ge \dots` the eigenvalues of the centred Gram matrix
:math:`HGH`, :math:`H = I - 11^T/n`,

.. math:: \mathrm{CPV}_k = 100 \sum_{i \le k} \lambda_i \Big/ \sum_i \lambda_i .

For :math:`G = XX^T` this is the variance explained by ordinary PCA of the rows of :math:`X`; for
:math:`G = \langle\phi_\sigma(I_i), \phi_\sigma(I_j)\rangle` it is sliced-Wasserstein kernel PCA.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from replication.protocols.metrics import metric_table
from sliced_wasserstein import center_gram, gram_matrix

__all__ = ["cumulative_percent_variance", "variance_table"]


def cumulative_percent_variance(gram: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Percent of the total variance that the first k principal components capture.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Gram matrix, not yet centred.

    Returns
    -------
    ndarray of shape (n - 1,)
        CPV of the first 1, 2, ..., n - 1 components; the last value is 100.

    Raises
    ------
    ValueError
        If all points coincide, so that there is no variance to share out.
    """
    eigenvalues = np.linalg.eigvalsh(center_gram(gram))[::-1][: len(gram) - 1]
    if not eigenvalues[0] > 1e-12 * np.abs(np.diagonal(gram)).max():
        raise ValueError("gram: all points coincide; there is no variance to explain")
    # Below this the eigenvalues of a centred Gram matrix are rounding noise around zero.
    eigenvalues = np.where(eigenvalues > 1e-12 * eigenvalues[0], eigenvalues, 0.0)
    cumulative = np.cumsum(eigenvalues)
    return 100.0 * cumulative / cumulative[-1]


def variance_table(
    densities: npt.NDArray[np.float32],
    embedding: npt.NDArray[np.float32],
    *,
    experiment: str,
    dataset: str,
    origin: str,
) -> pd.DataFrame:
    """CPV of PCA on the densities and of sliced-Wasserstein kernel PCA, as tidy rows.

    Parameters
    ----------
    densities : ndarray of shape (n, height, width)
    embedding : ndarray of shape (n, n_angles * n_quantiles)
        Their sliced-Wasserstein embedding.
    experiment, dataset, origin : str
        Constant columns of the table.

    Returns
    -------
    pandas.DataFrame
        Columns as in :data:`replication.protocols.metrics.METRIC_COLUMNS`; ``item`` is the
        number of components.
    """
    points = {"pca": densities.reshape(len(densities), -1), "sw_kpca": embedding}
    rows = [
        {"method": method, "item": k, "metric": "cumulative_percent_variance", "value": value}
        for method, vectors in points.items()
        for k, value in enumerate(cumulative_percent_variance(gram_matrix(vectors)), start=1)
    ]
    return metric_table(rows, experiment=experiment, dataset=dataset, origin=origin)

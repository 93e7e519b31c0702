"""Sliced Wasserstein distances, embeddings and kernels for probability distributions."""

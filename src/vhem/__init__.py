"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

"""Generators of synthetic data in the raw layouts of the published data sets.

``write(folder, *, seed, n_jobs, ...)`` of a module named like a data set writes its stand-in to
``folder``; everything random follows from the non-negative ``seed``, and the files depend neither
on ``n_jobs`` (joblib's convention) nor on how many others are made. The further parameters are the
sizes that the configuration states and its schema bounds.
"""

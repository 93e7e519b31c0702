"""Generators that write synthetic data in the layout of the published data sets."""

"""Tidy table in, matplotlib figure out. No module here knows a protocol or a data set."""

"""Tidy table in, matplotlib figure out: what is drawn of images."""

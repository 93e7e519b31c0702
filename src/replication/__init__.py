"""Data sets, protocols and figures of the two replicated papers."""

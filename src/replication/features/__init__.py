"""What is computed from raw files before any of the two methods sees them."""

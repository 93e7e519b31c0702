"""What the papers compare VHEM with, behind the same interface."""

"""What the two papers did with their features and models, with every seed."""

"""What the papers did with the data, with every seed stated: one module a protocol."""

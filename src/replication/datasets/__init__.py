"""Everything that knows where data come from and how their files are laid out."""

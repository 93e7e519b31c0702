"""Where data come from: catalog, archives, downloads, manifests, and decoders of their files."""

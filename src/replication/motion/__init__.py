"""Motion capture: readers, features, protocol and figures of the NIPS 2012 paper's Table 2."""

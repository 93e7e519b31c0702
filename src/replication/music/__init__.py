"""Songs: readers, features and the protocol of the NIPS 2012 paper's Table 3."""

"""Images: readers, densities, the protocols of the CVPR 2016 paper and their figures."""

"""HOGgles: what is left of a picture after its HOG features were computed and inverted.

HOG features (:mod:`.hog`), a dictionary that pairs grey patches with HOG windows
(:mod:`.dictionary`), and the inversion (:mod:`.inversion`), after Vondrick, Khosla, Malisiewicz,
Torralba: HOGgles: visualizing object detection features, ICCV 2013.
"""

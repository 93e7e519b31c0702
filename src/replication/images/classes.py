"""Classes of the images, as the published folders are called; nothing slow is imported."""

__all__ = ["FACE_CLASSES", "TEXTURE_CLASSES"]

TEXTURE_CLASSES = (
    "T01_bark1",
    "T02_bark2",
    "T03_bark3",
    "T04_wood1",
    "T05_wood2",
    "T06_wood3",
    "T07_water",
    "T08_granite",
    "T09_marble",
    "T10_floor1",
    "T11_floor2",
    "T12_pebbles",
    "T13_wall",
    "T14_brick1",
    "T15_brick2",
    "T16_glass1",
    "T17_glass2",
    "T18_carpet1",
    "T19_carpet2",
    "T20_upholstery",
    "T21_wallpaper",
    "T22_fur",
    "T23_knit",
    "T24_corduroy",
    "T25_plaid",
)
"""The published folders."""

FACE_CLASSES = (
    "BearHead",
    "CatHead",
    "ChickenHead",
    "CowHead",
    "DeerHead",
    "DogHead",
    "DuckHead",
    "EagleHead",
    "ElephantHead",
    "HumanHead",
    "LionHead",
    "MonkeyHead",
    "MouseHead",
    "Natural",
    "PandaHead",
    "PigHead",
    "PigeonHead",
    "RabbitHead",
    "SheepHead",
    "TigerHead",
    "WolfHead",
)
"""The published folders: 20 animals, and ``Natural`` for scenes without one."""

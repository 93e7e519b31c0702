"""What each setting may be: its type, its bounds and, in a line, what it means.

Each value has bounds: none of them limits a sensible run, all of them keep one within the memory of
a computer. Default values stand in ``config.yaml``; what must fit together, in
:mod:`replication.settings.rules`. ``python -m replication.settings.schema`` prints the JSON schema,
which editors understand. No job's script needs this module, which alone imports pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model
from pydantic.json_schema import GenerateJsonSchema

from replication.images.classes import FACE_CLASSES, TEXTURE_CLASSES
from replication.images.kernels import FAMILIES, SPACES
from replication.registry import MOTION_METHODS, SONG_MODELS

__all__ = ["json_schema"]


class _Schema(GenerateJsonSchema):
    """Without titles, which repeat the keys, and defaults, which stand in a file."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])


def _part(meaning: str | None = None, **settings: Any) -> Any:
    """Allow these settings, all of them and no others."""
    config = ConfigDict(extra="forbid")
    model: Any = create_model("Settings", __config__=config, __doc__=meaning, **settings)
    return model


def _some(settings: dict[str, Any]) -> Any:
    """Allow some of these settings, one or more."""
    config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1})
    optional: Any = {key: (kind, None) for key, kind in settings.items()}
    model: Any = create_model("Changes", __config__=config, **optional)
    return model


def _partial(part: type[BaseModel], *fixed: str) -> Any:
    """Allow some settings of a part, as a variant changes them; not the fixed ones."""
    kinds = get_type_hints(part, include_extras=True)
    return _some({key: kinds[key] for key in part.model_fields if key not in fixed})


def _whole(meaning: str, low: int, high: int, step: int | None = None) -> Any:
    return Annotated[int, Field(description=meaning, ge=low, le=high, multiple_of=step)]


def _number(meaning: str, low: float, high: float) -> Any:
    return Annotated[float, Field(description=meaning, ge=low, le=high)]


def _flag(meaning: str) -> Any:
    return Annotated[bool, Field(description=meaning)]


def _text(meaning: str, pattern: str, longest: int) -> Any:
    # A pattern of JSON schema, which fits the whole text here and may look ahead.
    field = Field(description=meaning, max_length=longest, json_schema_extra={"pattern": pattern})
    return Annotated[str, field]


def _one_of(meaning: str, *allowed: Any) -> Any:
    return Annotated[Any, WithJsonSchema({"description": meaning, "enum": list(allowed)})]


def _list(meaning: str, item: Any, low: int, high: int, order: str = "") -> Any:
    """Allow a list that is ``ascending`` or ``decreasing``, or has no item twice."""
    extra: Any = {"order": order} if order else {"uniqueItems": True}
    size = Field(description=meaning, min_length=low, max_length=high, json_schema_extra=extra)
    return Annotated[list[item], size]


def _some_of(meaning: str, allowed: Iterable[str], low: int = 0, each: str = "") -> Any:
    allowed = list(allowed)
    return _list(meaning, _one_of(each, *allowed), low, len(allowed))


def _each(setting: Any, *names: str) -> dict[str, Any]:
    return dict.fromkeys(names, setting)


def _study(methods: Any, parts: dict[str, Any], **more: Any) -> Any:
    """Allow a sensitivity study whose variants may change these parts."""
    return _part(
        "what the paper leaves open, varied",
        repeats=COUNT,
        methods=methods,
        **more,
        variants=Annotated[
            dict[str, _some(parts)],  # type: ignore[misc]
            Field(
                description="name of each variant and the settings that it changes",
                max_length=100,
                json_schema_extra={"propertyNames": VARIANT_NAME},
            ),
        ],
    )


VARIANT_NAME: Any = {
    "description": "lower-case letters, digits and '_', and not the name of what all runs have",
    "type": "string",
    "pattern": "(?!(main|one_vs_one|one_vs_rest|pairwise_coupling|ceiling)$|gamma_)[a-z0-9_]+",
    "maxLength": 60,
}
COUNT = _whole("how many or how often", 1, 10_000)
DRAWS = _whole("number of resamples", 2, 100_000)
FOLDS = _whole("number of folds", 2, 100)
OVERLAP = _number("share of a sequence that the next one repeats", 0, 0.99)

# --- data sets

IMAGE_SIDE = _whole("pixels", 32, 2048)
SONGS = _whole("number of songs", 10, 2000)
SONG_SECONDS = _whole("duration of a song in s", 4, 600)


def _data_set(meaning: str, **embedded: Any) -> Any:
    return _part(
        meaning,
        enabled=_flag("whether the data set takes part in the run"),
        source=_one_of("where the raw files come from", "embedded", "archives", "download"),
        on_bad_file=_one_of("what to do with a corrupt or truncated raw file", "error", "skip"),
        embedded=_part(**embedded),
    )


DATASETS = _part(
    uiuc_texture=_data_set(
        "UIUC texture database, 25 classes of 40 images",
        images_per_class=_whole("images in each of the 25 classes", 2, 99),
        **_each(IMAGE_SIDE, "width", "height"),
    ),
    animal_faces=_data_set(
        "LHI animal faces, 21 folders of 2,420 images",
        images_per_class=_whole("images in each of the 21 classes", 2, 200),
        **_each(IMAGE_SIDE, "min_side", "max_side"),
    ),
    cmu_mocap=_data_set(
        "CMU motion capture, 56 sequences of 8 classes",
        max_sequences_per_class=_whole("sequences that a class has at most", 2, 11),
    ),
    cal500=_data_set(
        "CAL500, 502 songs with 174 tags",
        songs=SONGS,
        seconds=SONG_SECONDS,
        tags=_whole("tags that get a model", 32, 200),
    ),
)

# --- images as densities

ANGLES = _whole("directions on the half circle", 2, 720, 2)
COST = _number("cost of an error", 1e-9, 1e9)
GAMMA = _number("gamma times the median squared distance", 1e-6, 1e6)
GAMMAS = _list("list of gamma times the median squared distance", GAMMA, 1, 30, "ascending")
DEGREE = _whole("degree of a polynomial kernel", 1, 20)
DEGREES = _list("list of degrees of polynomial kernels", DEGREE, 1, 20, "ascending")
FOUR_LINES = "at most 4, since the figure has four kinds of lines"

OF_DENSITIES = [name for name, family in FAMILIES.items() if family.matrix != "hog_gram"]
#: Not beyond the paper.
VARIED = [name for name in OF_DENSITIES if FAMILIES[name].matrix.startswith(("density_", "sw_"))]

COOCCURRENCE = _part(
    levels=_whole("number of grey levels", 2, 256),
    offsets=_list(
        "list of steps [rows, columns] between the two pixels of a pair",
        Annotated[
            list[_whole("pixels", -2047, 2047)],  # type: ignore[misc]
            Field(
                description="[rows, columns], not both 0",
                min_length=2,
                max_length=2,
                json_schema_extra={"not": {"const": [0, 0]}},
            ),
        ],
        *(1, 100),
    ),
    symmetric=_flag("whether a pair counts in both orders"),
)
IMAGES = _part(
    side=_whole("pixels to which all faces are brought, whole cells of 8", 56, 512, 8),
    resized=_one_of("whether faces are brought to it, or their inverses", "before", "after"),
    natural=_flag("whether the folder of scenes without an animal is a class"),
    copies=_flag("whether all copies of a photograph take part"),
)
DICTIONARY = _part(
    training=_one_of(
        "what the dictionary is learned from; faces leaks test images",
        *("sample_photographs", "with_textures", "faces"),
    ),
    file=_text(
        "path of the published dictionary pd.mat, which is then read; empty to learn",
        "[^\\x00-\\x1f]*",
        4000,
    ),
    n_atoms=_whole("atoms of the dictionary", 2, 4096),
    penalty=_number("weight of the codes' size; larger ones leave nothing of a picture", 1e-6, 0.2),
    n_windows=_whole("windows drawn for learning", 4, 1_000_000),
    n_steps=COUNT,
)
DENSITY = _part(
    reading=_one_of(
        "what of an inverted image is mass", "minmax", "deviation", "above", "below", "power_8"
    )
)
SLICED_WASSERSTEIN = _part(
    n_angles=ANGLES,
    n_quantiles=_whole("bins of a quantile function", 2, 4096),
    footprint=_one_of("shape of a pixel's mass", "box", "point"),
    oversampling=_whole("grid cells a pixel along a projection", 2, 64, 2),
    measure=_one_of("measure on the circle of directions", "probability", "surface"),
    template=_one_of("the density I0 that the embedding is relative to", "mean"),
)
VARIED_KERNELS = _some_of(
    "list of kernels; those beyond the paper are compared at the main settings only", VARIED, 1
)


def _scores(kernels: Iterable[str], each: str, class_: Any) -> dict[str, Any]:
    """Allow what is done with the densities of a kind of images."""
    some = _some_of("list of kernels", kernels, each=each)
    return {
        "inverses": _part(
            n_angles=ANGLES,
            n_iter=COUNT,
            classes=_list("two classes, between which a linear SVM decides", class_, 2, 2),
            C=COST,
        ),
        "variance": _part(
            components=_list("list of numbers of components", COUNT, 1, 100, "ascending"),
            gammas=_list(FOUR_LINES, GAMMA, 1, 4, "ascending"),
            degrees=_list(FOUR_LINES, DEGREE, 1, 4, "ascending"),
            subsamples=DRAWS,
            share=_number("share of the images in a subset", 0.05, 0.95),
        ),
        "svm": _part(
            **_each(FOLDS, "folds", "inner_folds"),
            scale=_one_of("whether kernels are in units of the data", "relative", "raw"),
            C=_list("list of costs of an error", COST, 1, 30, "ascending"),
            gamma=GAMMAS,
            degree=DEGREES,
            **_each(COUNT, "paper_repeats", "extra_repeats", "multiclass_repeats"),
            slow_repeats=_whole(
                "number of repetitions, or 0 to leave these kernels out", 0, 10_000
            ),
            paper_methods=_some_of("list of one kernel or more", kernels, 1, each),
            **_each(some, "extra_methods", "slow_methods", "multiclass_methods"),
            **_each(COUNT, "block", "slow_block"),
        ),
        "kmeans": _part(
            **_each(COUNT, "repeats", "sweep_repeats"),
            gamma=GAMMA,
            degree=DEGREE,
            sweep=GAMMAS,
            resamples=DRAWS,
        ),
        "identities": _part(
            n_samples=_whole(
                "number of densities, all pairs of which are compared exactly", 3, 1000
            ),
            n_inverse_angles=ANGLES,
        ),
    }


def _study_of_images(scores: dict[str, Any], **parts: Any) -> Any:
    """Allow a study of the images' densities, in which the machines vary too."""
    svm = scores["svm"]
    varied = ("scale", "C", "gamma", "degree")
    parts["sliced_wasserstein"] = _partial(SLICED_WASSERSTEIN, "measure", "template")
    parts["svm"] = _partial(svm, *(key for key in svm.model_fields if key not in varied))
    clustering = _part(
        methods=_some_of("list of spaces that are clustered", SPACES, 1), repeats=COUNT
    )
    return _study(VARIED_KERNELS, parts, kmeans=clustering, subsamples=COUNT)


TEXTURE_SCORES = _scores(
    OF_DENSITIES,
    "a kernel of densities; co-occurrence matrices have no HOG vectors",
    _one_of("a class of UIUC textures", *TEXTURE_CLASSES),
)
TEXTURES = _part(
    cooccurrence=COOCCURRENCE,
    sliced_wasserstein=SLICED_WASSERSTEIN,
    samples=_part(n_angles=ANGLES),
    **TEXTURE_SCORES,
    sensitivity=_study_of_images(TEXTURE_SCORES, cooccurrence=_partial(COOCCURRENCE)),
)
FACE_CLASS = _one_of("a folder of LHI animal faces", *FACE_CLASSES)
FACE_SCORES = _scores(FAMILIES, "", FACE_CLASS)
FACES = _part(
    images=IMAGES,
    dictionary=DICTIONARY,
    hoggles=_part(blocks=COUNT),
    density=DENSITY,
    sliced_wasserstein=SLICED_WASSERSTEIN,
    samples=_part(
        n_angles=ANGLES,
        not_shown=_list("classes of which no image is shown", FACE_CLASS, 0, 20),
    ),
    **FACE_SCORES,
    sensitivity=_study_of_images(
        FACE_SCORES,
        images=_partial(IMAGES),
        dictionary=_partial(DICTIONARY),
        density=_partial(DENSITY),
    ),
)

# --- sequences and their models

SIZE = _whole("components, states or Gaussians of a model", 1, 60)
GAUSSIANS = _whole("Gaussians of a mixture", 1, 512)
STARTS = _whole("random starts", 1, 1000)
VIRTUAL_SAMPLES = _number("virtual sequences of a component", 1, 1e9)
LENGTH = _whole("steps of virtual and sampled sequences", 1, 1000)
POWER = _number("power of the probability product kernel", 0.01, 10)
KERNEL_ROOT = _one_of(
    "the affinity is the kernel, or its root of tau (of a frame) or of tau d (of a value)",
    *(1, "frame", "value"),
)
TIME_LIMIT = _number("seconds of a processor", 1, 1e7)

MOTION_FEATURES = _part(
    representation=_one_of(
        "positions of the joints or their rotations", "positions", "quaternions"
    ),
    reference=_one_of(
        "what of the root's motion is taken away", "world", "horizontal", "root", "root_heading"
    ),
    common_skeleton=_flag("whether all motions move the mean skeleton"),
    frame_rate_hz=_number("frames a second", 1, 480),
    scaling=_one_of("whether columns are scaled to standard deviation 1", "none", "standard"),
)
HMMS = _part(
    **_each(SIZE, "n_states", "n_mix"),
    n_init=STARTS,
    covariance_floor=_number(
        "smallest variance; as large as that of the data it makes all models equal", 1e-9, 1
    ),
)
HIERARCHY = _part(
    levels=_list(
        "numbers of clusters of the three levels",
        *(_whole("number of clusters", 2, 1000), 3, 3, "decreasing"),
    ),
    n_init=STARTS,
    max_iter=COUNT,
    length=LENGTH,
    power=POWER,
    kernel_root=KERNEL_ROOT,
    dtm_states=SIZE,
    time_limit_s=TIME_LIMIT,
)
MOTION = _part(
    features=MOTION_FEATURES,
    hmms=HMMS,
    hierarchy=HIERARCHY,
    trials=_part(
        **_each(COUNT, "repeats", "block", "slow_block"),
        slow_methods=_some_of("list of clustering methods", MOTION_METHODS),
    ),
    bootstrap=_part(draws=DRAWS),
    sensitivity=_study(
        _some_of("list of one method or more", MOTION_METHODS, 1),
        {
            "features": _partial(MOTION_FEATURES),
            "hmms": _partial(HMMS),
            "hierarchy": _partial(HIERARCHY),
        },
    ),
)
TAGGING = _some_of("list of methods of tagging", SONG_MODELS, 1, "method of tagging")
MUSIC = _part(
    features=_part(
        sampling_rate=_whole("Hz, at most that of the synthetic songs", 4000, 22_050),
        sequence_length=_whole("frames of a sequence", 2, 10_000),
        overlap=OVERLAP,
        derivative_width=_one_of("frames that a derivative is fitted to", *range(3, 22, 2)),
        mel_bands=_whole("bands of a frame of 513 frequencies", 2, 128),
        blocks=COUNT,
    ),
    split=_part(
        vocabulary=_one_of("tags that compete for a song", "scored", "modelled"),
        **_each(COUNT, "min_songs", "block"),
        folds=FOLDS,
    ),
    songs=_part(
        **_each(SIZE, "n_components", "n_states", "n_mix", "dtm_states", "dtm_components"),
        n_gaussians=GAUSSIANS,
        dtm_overlap=OVERLAP,
        n_init=STARTS,
        max_iter=COUNT,
        covariance_floor=_number("smallest variance of the MFCCs in dB^2", 1e-9, 100),
    ),
    tags=_part(
        n_components=SIZE,
        n_gaussians=GAUSSIANS,
        virtual_samples=VIRTUAL_SAMPLES,
        length=LENGTH,
        power=POWER,
        kernel_root=KERNEL_ROOT,
        em_overlap=OVERLAP,
        em_share=_number("share of the sequences", 0.01, 1),
        **_each(COUNT, "shem_samples", "max_iter"),
        n_init=STARTS,
        seconds=TIME_LIMIT,
    ),
    methods=TAGGING,
    once=_some_of("methods that are tried on one fold", SONG_MODELS, 0, "method of tagging"),
    scoring=_part(
        annotated=_whole("tags given to a song", 1, 200),
        retrieved=_whole("songs at the top of a ranking", 1, 1000),
        empty_precision=_one_of(
            "precision of a tag that no song is given", "prior", "zero", "skip"
        ),
    ),
    bootstrap=_part(draws=DRAWS),
    estimation=_part(
        n_tags=_whole("number of tags", 2, 200),
        virtual_samples=_list(
            "list of numbers of virtual sequences", VIRTUAL_SAMPLES, 1, 30, "ascending"
        ),
    ),
    order=_part(songs=SONGS, seconds=SONG_SECONDS, methods=TAGGING),
)

CONFIG = _part(
    "Configuration of a run",
    run=_text(
        "letters, digits, '-' and '_'; names the folders of the run",
        *("[A-Za-z0-9][A-Za-z0-9_-]*", 60),
    ),
    seed=_whole("every random number follows from it", 0, 2**32 - 1),
    archives=_text(
        "folder that holds a sub-folder of published archives for each data set",
        *("[^\\x00-\\x1f]+", 4000),
    ),
    allow_subset=_flag("whether an incomplete copy of a real data set may be used"),
    datasets=DATASETS,
    experiments=_part(textures=TEXTURES, faces=FACES, motion=MOTION, music=MUSIC),
)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration (draft 2020-12).

    Beside its own keywords ``order: ascending`` or ``decreasing`` says how a list is sorted; a
    pattern fits the whole text, and numbers are finite.
    """
    schema: dict[str, Any] = CONFIG.model_json_schema(schema_generator=_Schema)
    return schema


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))

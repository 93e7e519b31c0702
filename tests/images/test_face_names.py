"""Jobs name the face at fault, of which a function knows only the place in a list."""

import runpy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from replication.data.manifest import COLUMNS
from replication.images.densities import image_densities
from replication.images.hoggles.dictionary import PairedDictionary


def test_the_job_of_the_densities_names_a_face_of_a_later_block(tmp_path, repository, monkeypatch):
    monkeypatch.setattr("replication.io.log_to", lambda path: None)
    folder = tmp_path / "features/faces"
    (folder / "main").mkdir(parents=True)
    rows = [dict.fromkeys(COLUMNS, "x") | {"file": f"Image/{i}.jpg"} for i in range(5)]
    for row in rows:
        row["status"] = "used"
    # Files that a run skips have no image.
    rows[1]["status"] = "skipped"
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(folder / "images.csv", index=False)
    images = np.random.default_rng(0).random((4, 4, 4)).astype(np.float32)
    images[3] = 0
    blocks = [folder / f"main/hoggles_{k}.npy" for k in range(2)]
    for block, part in zip(blocks, np.array_split(images, 2), strict=True):
        np.save(block, part)
    job = SimpleNamespace(
        log=["unused"],
        input=SimpleNamespace(hoggles=blocks, images=folder / "images.csv"),
        output=SimpleNamespace(
            densities=str(tmp_path / "densities.npy"), images=str(tmp_path / "chosen.csv")
        ),
        params=SimpleNamespace(
            density={"reading": "minmax"}, selection={"natural": True, "copies": True}
        ),
    )
    script = repository / "workflow/scripts/images/make_face_densities.py"
    with pytest.raises(ValueError, match=r"^Image/4\.jpg: is constant"):
        runpy.run_path(str(script), init_globals={"snakemake": job})
    assert not (tmp_path / "densities.npy").exists()
    images[3] = images[2]
    np.save(blocks[1], images[2:])
    runpy.run_path(str(script), init_globals={"snakemake": job})
    np.testing.assert_array_equal(np.load(tmp_path / "densities.npy"), image_densities(images))


def test_the_job_of_the_inversion_names_the_face_and_not_its_place_in_the_block(
    tmp_path, repository, monkeypatch
):
    monkeypatch.setattr("replication.io.log_to", lambda path: None)
    rows = [dict.fromkeys(COLUMNS, "x") | {"file": f"{i}.png", "status": "used"} for i in range(4)]
    np.save(tmp_path / "faces.npy", np.zeros((4, 56, 56, 3), np.uint8))
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(tmp_path / "images.csv", index=False)
    # Of cells so large that a face does not hold three of them.
    atoms = {"grey": np.zeros((1, 96, 96)), "hog": np.zeros((1, 1, 1, 32))}
    PairedDictionary(**atoms, penalty=0.02, cell=32).save(tmp_path / "d.npz")
    job = SimpleNamespace(
        log=["unused"],
        input=SimpleNamespace(
            images=tmp_path / "images.csv",
            faces=tmp_path / "faces.npy",
            dictionary=tmp_path / "d.npz",
        ),
        output=SimpleNamespace(hoggles=str(tmp_path / "hoggles.npy")),
        params=SimpleNamespace(resized="before", blocks=2),
        wildcards=SimpleNamespace(block="1"),
        threads=1,
    )
    script = repository / "workflow/scripts/images/invert_faces.py"
    with pytest.raises(
        ValueError, match=r"2\.png: cannot be inverted: image must be at least three"
    ):
        runpy.run_path(str(script), init_globals={"snakemake": job})

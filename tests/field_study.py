"""A small study of colour pictures: dark and pale blobs on a textured field with vessels, marked by four readers."""

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from PIL import Image

from overread.images import GRID_MM, write_png16
from overread.simulate import phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import pixels_with_nodules
from overread.tables import named, scale_lengths

SHAPE = (150, 180)
READERS = ("a", "b", "c", "d")
LIGHT = """
name = "pictures"
seed = 3
[region]
kind = "field_of_view"
[units]
unit = "px"
[models]
wanted = ["soft"]
folds = 2
[soft]
normalizations = ["bags"]
n_lambdas = 8
[evaluation]
fp_targets = [0.5, 2.0]
n_bootstrap = 100
chance_shifts = 2
headline = "test"
[execution]
executor = "serial"
"""
GROUPS = (
    LIGHT
    + """
[labels]
groups = {pale = ["pale"], dark = ["dark"]}
[candidates]
polarity = {pale = "bright", dark = "dark"}
limit = 12
"""
)


def draw_picture(rng: np.random.Generator, *, colour: bool = True) -> tuple[np.ndarray, list[tuple]]:
    """Pixels of 8 bits, and (x, y, radius, label) of each blob in pixels."""
    rows, columns = SHAPE
    y, x = np.mgrid[:rows, :columns]
    level = 0.5 + 0.05 * cv2.GaussianBlur(rng.normal(size=SHAPE), (0, 0), 3) * 3
    level -= 0.15 * (np.abs(x - columns / 2 + 10 * np.sin(y / 20)) < 2)
    rgb = np.stack([level * 1.2, level, level * 0.5], axis=2)
    blobs = []
    for number in range(rng.integers(2, 6)):
        angle, away = rng.uniform(0, 2 * np.pi), rng.uniform(15, 50)
        column, row = columns / 2 + away * np.cos(angle), rows / 2 + away * np.sin(angle)
        radius, label = rng.uniform(3, 6), ("pale", "dark")[number % 2]
        inside = np.exp(-((((x - column) ** 2 + (y - row) ** 2) / radius**2) ** 2))[..., None]
        rgb = rgb + inside * np.array([0.25, 0.25, 0.1] if label == "pale" else [-0.15, -0.25, -0.1])
        blobs.append((column, row, radius, label))
    rgb += rng.normal(0, 0.01, rgb.shape)
    rgb *= (np.hypot(x - columns / 2, y - rows / 2) < 70)[..., None]
    pixels = np.clip(255 * rgb, 0, 255).astype(np.uint8)
    return (pixels if colour else pixels[..., 1]), blobs


def mark_blobs(rng: np.random.Generator, image_id: str, blobs: list[tuple]) -> list[dict]:
    """Marks of readers who see most blobs, each a little elsewhere, and mark a place of their own at times."""
    marks = []
    for reader in READERS:
        seen = [blob for blob in blobs if rng.random() < 0.8]
        if rng.random() < 0.2:
            seen.append((*rng.uniform(50, 100, 2), 4.0, ("pale", "dark")[rng.integers(2)]))
        for number, (column, row, radius, label) in enumerate(seen):
            column, row = np.array([column, row]) + rng.normal(0, 0.5, 2)
            marks.append(
                {
                    "image_id": image_id,
                    "reader_id": reader,
                    "mark_id": f"{reader}{number}",
                    "x": column + 0.5,
                    "y": row + 0.5,
                    "semi_major": radius,
                    "semi_minor": radius,
                    "angle_deg": 0.0,
                    "label": label,
                }
            )
    return marks


def write_region_study(folder: Path, kind: str, *, n_images: int = 6, settings: str = LIGHT) -> Path:
    """Write a study whose images need a kind of region; masks leave out the right half, chests are phantoms."""
    settings = settings.replace("field_of_view", kind)
    if kind == "masks":
        settings += '[images]\nmasks = "masks"\n'
    if kind == "chest":
        settings = settings.replace('[units]\nunit = "px"\n', '[features]\nonly = ["shape.*"]\n')
    study = write_field_study(folder, settings=settings, n_images=n_images, seed=1)
    if kind == "masks":
        (study / "masks").mkdir()
        mask = np.zeros(SHAPE, np.uint8)
        mask[:, : SHAPE[1] // 2] = 255
        for number in range(n_images):
            Image.fromarray(mask).save(study / "masks" / f"eye{number:02d}.png")
    if kind == "chest":
        for number in range(n_images):
            background = phantom_background(phantom(seed=number, mm_per_px=GRID_MM))
            pixels = pixels_with_nodules(background, [])
            write_png16(study / "images" / f"eye{number:02d}.png", pixels)
        images = pd.read_csv(study / "images.csv").drop(columns=["width_px", "height_px"])
        images.assign(mm_per_px_x=GRID_MM, mm_per_px_y=GRID_MM).to_csv(study / "images.csv", index=False)
    return study


def write_field_study(
    folder: Path,
    *,
    settings: str = LIGHT,
    n_images: int = 18,
    seed: int = 0,
    colour: bool = True,
    **columns: object,
) -> Path:
    """Write pictures, tables (lengths in pixels, or in mm where columns give mm_per_px_x) and settings."""
    rng = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    marks, images = [], []
    for number in range(n_images):
        image_id = f"eye{number:02d}"
        pixels, blobs = draw_picture(rng, colour=colour)
        Image.fromarray(pixels).save(folder / "images" / f"{image_id}.png")
        marks += mark_blobs(rng, image_id, blobs)
        size = {"width_px": SHAPE[1], "height_px": SHAPE[0]}
        images.append(
            {"image_id": image_id, "path": f"images/{image_id}.png", "patient_id": image_id, **size}
        )
    table = pd.DataFrame(marks)
    table = scale_lengths(table, columns.get("mm_per_px_x", 1.0))
    table = named(table, "mm" if "mm_per_px_x" in columns else "px")
    table.to_csv(folder / "marks.csv", index=False)
    pd.DataFrame(images).assign(**columns).to_csv(folder / "images.csv", index=False)
    readings = [{"image_id": row["image_id"], "reader_id": reader} for row in images for reader in READERS]
    pd.DataFrame(readings).to_csv(folder / "readings.csv", index=False)
    (folder / "study.toml").write_text(settings)
    return folder

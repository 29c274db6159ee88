"""Rows of the tables that the tests of bags share."""


def candidate(image, name, x, y):
    return {"image_id": image, "candidate_id": name, "x_mm": x, "y_mm": y, "radius_mm": 4.0, "response": 1.0}


def ground_truth(image, name, x, y, *, axes=(10.0, 8.0), readers=2, probability=0.5, weight=0.5):
    return {
        "image_id": image,
        "truth_id": name,
        "x_mm": x,
        "y_mm": y,
        "semi_major_mm": axes[0],
        "semi_minor_mm": axes[1],
        "angle_deg": 0.0,
        "n_readers": readers,
        "probability": probability,
        "weight": weight,
        "golden": readers >= 2,
    }

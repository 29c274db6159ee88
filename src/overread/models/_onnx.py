"""The instance scorer as an ONNX graph, to run a model without Python.

The graph scores instances; bags are pooled outside, from the scores, by the formula in its metadata:

    input   X            float64 (n, d)   instances, columns in the order of metadata "overread.feature_names"
    output  score        float64 (n,)     z = w'x + b
    output  probability  float64 (n,)     sigma(z), from exp(-|z|), so that nothing overflows

Needs the package `onnx` (the extra `onnx`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import overread
from overread.errors import InvalidInputError, require_extra
from overread.files import write_atomically
from overread.models._base import LinearBagClassifier
from overread.models.loss._bag_loss import find_pooling

if TYPE_CHECKING:
    from onnx import ModelProto


# Old enough for runtimes of 2022, new enough for every operator used here in float64.
OPSET = 17
IR_VERSION = 8

POOLING_OUTSIDE = {
    "noisy_or": "p = -expm1(-sum_k softplus(score_k)) over the instances k of a bag",
    "noisy_or_mean": "p = -expm1(-mean_k softplus(score_k)) over the instances k of a bag",
    "log_sum_exp": "p = sigmoid(log(mean_k exp(score_k))) over the instances k of a bag",
    "mean": "p = sigmoid(mean_k score_k) over the instances k of a bag",
}


def export_onnx(model: LinearBagClassifier, path: str | Path) -> Path:
    """Write the instance scorer of a fitted model to an ONNX file, whole or not at all.

    Parameters
    ----------
    model : LinearBagClassifier
        A fitted linear model of bags.
    path : str or Path
        File to write.

    Raises
    ------
    MissingExtraError
        If the package `onnx` is not installed.
    """
    return write_atomically(path, _make_graph(model).SerializeToString(deterministic=True))


def _make_graph(model: LinearBagClassifier) -> ModelProto:
    """Return the instance scorer of a fitted model as an ONNX model."""
    require_extra("onnx", "ONNX export")
    import onnx.checker
    import onnx.helper
    import onnx.numpy_helper

    check_is_fitted(model)
    double = onnx.TensorProto.DOUBLE
    graph = onnx.helper.make_graph(
        _nodes(onnx.helper),
        "overread_instance_scorer",
        [onnx.helper.make_tensor_value_info("X", double, ["n", model.n_features_in_])],
        [onnx.helper.make_tensor_value_info(name, double, ["n"]) for name in ("score", "probability")],
        _constants(onnx.numpy_helper, model),
    )
    made: ModelProto = onnx.helper.make_model(
        graph,
        producer_name="overread",
        producer_version=overread.__version__,
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    onnx.helper.set_model_props(made, _metadata(model))
    onnx.checker.check_model(made, full_check=True)
    return made


def _nodes(helper: Any) -> list[Any]:
    steps = [
        # Only columns with a coefficient are read, as in Python: an infinity elsewhere does no harm.
        ("Gather", ["X", "used_columns"], "features", {"axis": 1}),
        ("MatMul", ["features", "coefficients"], "products", {}),
        ("Add", ["products", "intercept"], "score", {}),
        ("Abs", ["score"], "size", {}),
        ("Neg", ["size"], "exponent", {}),
        ("Exp", ["exponent"], "tail", {}),
        ("Add", ["tail", "one"], "total", {}),
        ("Less", ["score", "zero"], "is_negative", {}),
        ("Where", ["is_negative", "tail", "one"], "numerator", {}),
        ("Div", ["numerator", "total"], "probability", {}),
    ]
    return [
        helper.make_node(operator, inputs, [output], name=output, **options)
        for operator, inputs, output, options in steps
    ]


def _constants(numpy_helper: Any, model: LinearBagClassifier) -> list[Any]:
    coefficients = np.asarray(model.coef_[0], dtype=np.float64)
    intercept = float(model.intercept_[0])
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept)):
        raise InvalidInputError("the model's coefficients are not finite; it cannot be exported")
    used = np.flatnonzero(coefficients)
    # Runtimes differ on products over no columns: a model without features reads one, times 0.
    used = used if len(used) else np.array([0])
    values = {
        "used_columns": used.astype(np.int64),
        "coefficients": coefficients[used],
        "intercept": np.array(intercept),
        "one": np.array(1.0),
        "zero": np.array(0.0),
    }
    return [numpy_helper.from_array(value, name) for name, value in values.items()]


def _metadata(model: LinearBagClassifier) -> dict[str, str]:
    find_pooling(model.pooling)
    names = getattr(model, "feature_names_in_", None)
    return {
        "overread.kind": type(model).__name__,
        "overread.feature_names": json.dumps(None if names is None else [str(name) for name in names]),
        "overread.classes": json.dumps([str(label) for label in model.classes_]),
        "overread.pooling": model.pooling,
        "overread.outside": (
            "Give finite float64 features in the order of overread.feature_names, on their original scale. Then "
            f"for each bag: {POOLING_OUTSIDE[model.pooling]}; p is the probability of the second class."
        ),
    }

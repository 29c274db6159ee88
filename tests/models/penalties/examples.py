"""Examples of every penalty, which the tests of what all penalties must do go through."""

from __future__ import annotations

from overread.models import L1, ElasticNet

EXAMPLES = {
    "l1": [L1()],
    "elastic_net": [ElasticNet(), ElasticNet(1.0), ElasticNet(0.9), ElasticNet(0.01)],
}
ALL = [penalty for penalties in EXAMPLES.values() for penalty in penalties]

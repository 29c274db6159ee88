"""Examples of every penalty, which the tests of what all penalties must do go through."""

from overread.models import PENALTIES, ElasticNet

# Each by its defaults, so that a new one needs no line here; then those with a parameter that matters.
ALL = [*(penalty() for penalty in PENALTIES.values()), ElasticNet(1.0), ElasticNet(0.9), ElasticNet(0.01)]

import pytest

from overread.errors import InvalidInputError
from overread.models import L1, PENALTIES, ElasticNet, SoftMILLogisticRegression
from overread.models._penalties import find_penalty


def test_every_penalty_is_there_under_its_name():
    assert {"l1": L1, "elastic_net": ElasticNet}.items() <= PENALTIES.items()
    assert [penalty.name for penalty in PENALTIES.values()] == list(PENALTIES)


def test_a_penalty_by_name_or_as_it_is():
    assert find_penalty("l1") == L1()
    assert find_penalty("elastic_net") == ElasticNet(0.5)
    given = ElasticNet(0.2)
    assert find_penalty(given) is given


@pytest.mark.parametrize("given", ["l2", None, 1.0, L1, ["l1"]])
def test_what_is_no_penalty(given):
    with pytest.raises(InvalidInputError, match=r"choose one of l1, elastic_net.*, or pass a Penalty"):
        SoftMILLogisticRegression(penalty=given).fit([[0.0], [1.0]], [0, 1])

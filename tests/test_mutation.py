"""The table of faults fits the sources: each fault can be applied, and its tests are there. `make mutate` applies them."""

from collections import Counter

from tests.mutation.table import ROOT, read

FAULTS = read()


def test_every_fault_can_be_applied() -> None:
    """Where a change moved the text of a fault, move the fault as well."""
    wrong = {fault.id: reason for fault in FAULTS if (reason := fault.wrong(ROOT))}
    assert wrong == {}


def test_every_fault_has_a_name_of_its_own_and_tests_that_exist() -> None:
    assert [id_ for id_, count in Counter(fault.id for fault in FAULTS).items() if count > 1] == []
    files = {test.partition("::")[0] for fault in FAULTS for test in fault.tests}
    assert {file for file in files if not (ROOT / file).exists()} == set()
    assert all(fault.tests for fault in FAULTS)


def test_the_table_is_large_and_covers_what_promises_rest_on() -> None:
    areas = Counter(fault.area for fault in FAULTS)
    assert sum(areas.values()) >= 80
    assert areas.keys() >= {
        "durability",
        "security",
        "reasons",
        "limits",
        "defaults",
        "owners",
        "escaping",
        "retention",
        "cli",
        "http",
    }
    assert sum(bool(fault.survives) for fault in FAULTS) <= 0.05 * len(FAULTS)

"""What must come first. Pure."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def in_order(needs: "Mapping[str, Sequence[str]]") -> tuple[list[str], list[str]]:
    """Every name after those it needs, otherwise as given; or the names of a cycle, if there is one."""
    order: list[str] = []
    under_way: list[str] = []

    def visit(name: str) -> list[str]:
        if name in under_way:
            return under_way[under_way.index(name) :]
        if name in order:
            return []
        under_way.append(name)
        for other in needs[name]:
            if cycle := visit(other):
                return cycle
        under_way.remove(name)
        order.append(name)
        return []

    for name in needs:
        if cycle := visit(name):
            return [], cycle
    return order, []


def with_needs(wanted: "Sequence[str]", needs: "Mapping[str, Sequence[str]]") -> list[str]:
    """The wanted names and all that they need, each after what it needs."""
    reached: dict[str, Sequence[str]] = {}
    ahead = list(wanted)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached[name] = needs[name]
            ahead += needs[name]
    return [name for name in in_order(needs)[0] if name in reached]

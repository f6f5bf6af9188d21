"""The log of accesses gives what looking through all of them gives, in the same order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileproof.mlir.ir import Operation
from tileproof.protocol.memory import Access, AccessLog

OPERATION = Operation("ptx", (), (), (), (), (), (), (), False, ("",))
AGENTS = [((0, 0),), ((0, 1),), ((0, 0), (0, 1))]

pieces = st.tuples(st.integers(0, 12), st.integers(1, 8), st.sampled_from([-1, 1, 2, 3]))
accesses = st.lists(
    st.tuples(pieces, st.sampled_from(AGENTS), st.booleans(), st.sampled_from([".generic", ".mma"]), st.integers(0, 7)),
    max_size=30,
)


class Plain:
    """A log that is looked through from its beginning each time."""

    def __init__(self) -> None:
        self.held: list[Access] = []

    def overlapping(self, low: int, high: int, lanes: int) -> list[Access]:
        return [one for one in self.held if one.low < high and low < one.high and one.lanes & lanes]

    def add(self, access: Access, over: set[int]) -> None:
        def goes(old: Access) -> bool:
            inside = access.low <= old.low and old.high <= access.high and not old.lanes & ~access.lanes
            same = old.low == access.low and old.high == access.high and old.agents == access.agents
            like = same and old.kind == access.kind and old.writes == access.writes
            return inside and (id(old) in over or like)

        gone = {id(old) for old in self.overlapping(access.low, access.high, access.lanes) if goes(old)}
        self.held = [*(old for old in self.held if id(old) not in gone), access]


@given(accesses)
def test_the_log_is_that_of_a_plain_list(given_accesses):
    log, plain = AccessLog(), Plain()
    for moment, ((low, length, lanes), agents, writes, kind, which) in enumerate(given_accesses):
        high = low + length
        met = log.overlapping(low, high, lanes)
        assert met == plain.overlapping(low, high, lanes)
        assert log.overlapping(low, high, lanes, writes=True) == [one for one in met if one.writes]
        over = {id(one) for place, one in enumerate(met) if writes and which >> place % 3 & 1}
        one = Access(low, high, agents, moment, kind, writes, OPERATION, lanes=lanes)
        log.add(one, over)
        plain.add(one, over)
        assert list(map(id, log.accesses)) == list(map(id, plain.held))
    last: dict[object, int] = {}
    for access in plain.held:
        for agent in access.agents:
            last[agent] = max(access.moment, last.get(agent, -1))
    assert log.latest() == last


def test_the_last_moments_follow_what_is_added_and_forgotten():
    log = AccessLog()
    first = Access(0, 4, ((0, 0),), 1, ".generic", True, OPERATION)
    log.add(first, set())
    assert log.latest() == {(0, 0): 1}
    log.add(Access(0, 8, ((0, 1),), 2, ".mma", True, OPERATION), {id(first)})
    assert log.latest() == {(0, 1): 2}

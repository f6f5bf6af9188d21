"""What a kernel in PTX is launched with where its text does not say it, told by how its runs go.

A cluster is the one in which the kernel goes right, if it goes right in no other number of CTAs. Of the threads of a
CTA nothing is assumed where the kernel goes right with any number of whole warps. Some facts save runs:

- A thread of a kernel that never asks how many threads there are, and decides nothing by what others leave in shared
  memory, does the same in each CTA that has it, as long as it waits for others only at barriers of all. Fewer threads
  then make no hazard that more do not make: what is right with some number of warps is so with fewer, and what is wrong
  is so with more.
- A warp of such a kernel that reaches for lanes of tensor memory which are another warp's does so in each larger CTA as
  well, unless it waits for ever before. No launch works that has such a warp, so the kernel is not made for one.
- Threads that wait for ever are noticed at the first launch: a kernel that goes right in some launch is not made for
  one in which it hangs.
- Accumulators in tensor memory are read by the warps of a warpgroup, each its quarter of the lanes.

Where ``.maxntid`` says how many threads there may be, a kernel that reads ``%tid.y`` is run with so many, in rows of
each power of two: what is right in all of them, or wrong, is so in the launch. One that has hazards with so many
threads and none with a few warps less is made for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.judge.launches import Three
from tileproof.mlir.ir import Operation
from tileproof.protocol.deciding import by_others
from tileproof.protocol.folding import Shape
from tileproof.protocol.launch import Blocks, Launch
from tileproof.protocol.program import Instruction
from tileproof.rulebase.book import Rulebook

_MOSTLY = 0.8  # of the steps that a launch executes at most: one in which threads wait for ever may do more
_COUNT = regex(r"sreg\.n(?:tid|warpid)\b")


@dataclass(frozen=True, slots=True)
class Trial:
    """How a run of a kernel went.

    Attributes:
        work: the instructions that it took.
        steps: the steps of the protocol that it executed.
        errors: how many stand.
        right: whether nothing goes wrong.
        beyond: whether threads named a CTA that the cluster does not have.
        hangs: whether threads wait for ever: they may because of the cluster.
        brief: whether it had few tiles, because the long run has no end.
        waiting: whether nothing else goes wrong than that threads wait for ever.
    """

    work: int
    steps: int
    errors: int
    right: bool
    beyond: bool = False
    hangs: bool = False
    brief: bool = False
    waiting: bool = False


# -- clusters


def narrowed(
    book: Rulebook,
    launched: Launch,
    tried: Callable[[Shape, bool], Trial],
    budget: int,
    pairs: bool = False,
    again: bool = False,
) -> Launch:
    """The launches of a kernel in PTX with one cluster: the first with which a run does most.

    Nothing is assumed where the kernel goes right with no other of the possible numbers of CTAs, or with all of
    them but those with which threads wait for ever; nor where it comes to the end of a short run with one number
    alone, and hangs with all others: a long one has none. Where it goes right with none, that with which it goes
    furthest shows what is wrong, or what may be. Where the block is not known either it is one in which it goes
    right in the first cluster, if there is one.

    Args:
        tried: a run in one way, to its end or to the first error.
        budget: the instructions of all runs in rare clusters; it ends where what is left cannot be enough, by the least
            that a CTA took, but not before all clusters of a power of two were tried, or it goes right in one.
        pairs: whether CTAs work in pairs, so that their number is even.
        again: whether the block is one in which it went right.
    """
    block = launched.shapes[0].block
    usual = [one for one in launched.shapes if one.block == block]
    usual = [one for one in usual if not (pairs and one.ctas % 2)] or usual
    if launched.cluster_known or len(usual) == 1:
        return launched
    done = {one: tried(one, False) for one in usual}
    done = {one: trial for one, trial in done.items() if not trial.beyond} or done
    clusters = list(done)
    free = [one for one, trial in done.items() if not trial.hangs]
    if len({one.ctas for one in free}) == 1 and len(done) == len(usual) and all(done[one].brief for one in free):
        return replace(launched, shapes=_all_in(launched, free[0]), cluster_known=True)
    if all(one.errors for one in done.values()) and not (launched.block_known or again):
        blocks = dict.fromkeys(one.block for one in launched.shapes if one.block != block)
        better = next((one for one in blocks if tried(replace(usual[0], block=one), True).right), None)
        if better is not None:
            return narrowed(book, _in_block(launched, better), tried, budget, pairs, again=True)
    if all(one.errors for one in done.values()):
        found, every = _in_rare(book, usual, pairs, lambda shape: tried(shape, True), budget)
        done |= found
        right = [one for one, trial in found.items() if not trial.errors]
        if every and not right:
            done = {one: trial for one, trial in done.items() if not trial.beyond} or done
            most = max(one.steps for one in done.values())

            def badness(one: Shape) -> tuple[bool, bool, bool, int, int]:
                trial = done[one]
                return trial.steps < _MOSTLY * most, _unusual(one), trial.hangs, -trial.steps, trial.errors

            chosen = min(done, key=badness)
            others = tuple(one for one in done if one != chosen and not _unusual(one))
            return replace(launched, shapes=_all_in(launched, chosen), wrong_anyhow=True, others=others)
        if every and len(right) == 1 and done[right[0]].right:
            return replace(launched, shapes=_all_in(launched, right[0]), cluster_known=True)
    most = max(one.steps if one.right else 0 for one in done.values())
    as_good = [one for one, trial in done.items() if trial.right and trial.steps == most > 0]
    furthest = max(done, key=lambda one: (done[one].steps, -done[one].errors))
    if not as_good and done[furthest].steps > done[clusters[0]].steps:
        return replace(launched, shapes=(furthest,))  # no other block: nothing is found where a cluster is assumed
    chosen = as_good[0] if as_good else clusters[0]
    meant = [one for one in clusters if not done[one].waiting]
    alone = {one.ctas for one in as_good} == {chosen.ctas} or as_good == meant
    alone = alone and len(done) == len(clusters)
    return replace(launched, shapes=_all_in(launched, chosen), cluster_known=alone)


def _in_rare(
    book: Rulebook, usual: Sequence[Shape], pairs: bool, tried: Callable[[Shape], Trial], budget: int
) -> tuple[dict[Shape, Trial], bool]:
    """How a kernel goes that goes wrong in all usual clusters, and whether all others were tried that may matter.

    Once it goes right in one, others with as many CTAs do not, and no more are tried where it goes right in two.
    """
    done: dict[Shape, Trial] = {}
    right: Shape | None = None
    rest = list(_rare(book, usual, pairs))
    least = budget  # instructions that a CTA takes up to the first error
    while rest:
        rare = rest.pop(0)
        if right is not None and rare.ctas == right.ctas:
            continue
        trial = tried(rare)
        if not trial.beyond:
            done[rare] = trial
        wrong = trial.errors or trial.beyond
        if not wrong:
            if right is not None or not trial.right:
                return done, False
            right = rare
            continue
        budget -= trial.work
        least = min(least, trial.work // rare.ctas)
        needed = least * sum(one.ctas for one in rest) if right is not None or all(map(_unusual, rest)) else 0
        if budget < needed:
            return done, False
    return done, True


def _rare(book: Rulebook, usual: Sequence[Shape], pairs: bool) -> Iterator[Shape]:
    """The launches in all other clusters of x and y: those of powers of two first, and of them the small ones."""
    most = hardware.limit(book, "cluster_ctas")
    both = ((x, y) for x in range(1, most + 1) for y in range(1, most // x + 1))
    known = {one.cluster for one in usual}
    found = [replace(usual[0], cluster=(x, y, 1)) for x, y in both if not (pairs and x * y % 2)]
    yield from sorted(
        (one for one in found if one.cluster not in known), key=lambda one: (_unusual(one), one.ctas, one.cluster)
    )


def _unusual(shape: Shape) -> bool:
    """Whether the CTAs of a cluster are no power of two: hardly a kernel is made for such, and they come last."""
    return shape.ctas.bit_count() > 1


def _in_block(launched: Launch, block: Three) -> Launch:
    """The launches with another block in all clusters, and the block that was first in the first of them."""
    before = launched.shapes[0]
    clusters = (replace(one, block=block) for one in launched.shapes if one.block == before.block)
    others = (one for one in launched.shapes if one.block not in (block, before.block))
    return replace(launched, shapes=(*clusters, *others, before))


def _all_in(launched: Launch, chosen: Shape) -> tuple[Shape, ...]:
    """One way to launch a kernel, and the other blocks in the cluster of that."""
    others = (replace(one, cluster=chosen.cluster) for one in launched.shapes if one.block != chosen.block)
    return chosen, *others


# -- blocks


def rare_blocks(book: Rulebook, launched: Launch, least: int, counts: Set[int] = frozenset()) -> Iterator[Shape]:
    """The launches in all other numbers of whole warps from so many threads on, small ones first.

    Args:
        counts: other numbers of threads, of which the last warp is none.
    """
    usual, most = launched.shapes[0], hardware.limit(book, "cta_threads")
    known = {one.threads for one in launched.shapes}
    row = usual.block[0] if usual.block[1] > 1 else 0
    parts = () if row else sorted(one for one in counts if one % usual.warp and least <= one <= most)
    for threads in (*range(least, most + 1, usual.warp), *parts):
        if threads not in known:
            yield replace(usual, block=(row, threads // row, 1) if row else (threads, 1, 1))


def right_in_blocks(
    book: Rulebook,
    shape: Shape,
    work: int,
    code: Sequence[Instruction],
    steps: Sequence[Operation],
    tried: Callable[[Shape, Set[str]], tuple[int, Set[str] | None]],
    budget: int,
    least: int,
) -> Blocks | None:
    """With how many threads in a CTA a kernel goes right that does so with one number of them; None where that is not
    known, or would take more instructions than the budget.

    Args:
        shape: with which it goes right; all its threads lie along x.
        work: the instructions that it took.
        code, steps: its instructions, and its steps of the protocol.
        tried: a run to the first error, or the first of some codes: its instructions, and the codes of what goes wrong,
            None where it does not say.
        least: the fewest threads that it can have.
    """
    sizes = range(least, hardware.limit(book, "cta_threads") + 1, shape.warp)
    if shape.threads not in sizes:
        return None
    impossible, uneven = (book.enums[f"{one}_block_finding"].by_spelling.keys() for one in ("impossible", "uneven"))
    no_launch = uneven | book.enums["waiting_launch_finding"].by_spelling.keys()  # of as many threads; more may do
    counts = any(one.kind == "effect" and _COUNT.search(one.operation.name) for one in code)
    by_itself = not counts and not by_others(code, {one[1:] for one in book.enums["tensor_step"].members})
    alone = by_itself and not _numbered(book, steps)
    found: dict[int, Set[str]] = {}  # what goes wrong, by the number of threads

    def note(threads: int, codes: Set[str]) -> None:
        fewer, more = (one for one in sizes if one < threads), (one for one in sizes if one > threads)
        same = fewer if not codes else more if codes - no_launch else ()
        if alone or (by_itself and not codes.isdisjoint(impossible)):
            found.update((one, codes) for one in same if one not in found)
        found[threads] = codes

    note(shape.threads, frozenset())
    following = shape.threads + shape.warp  # one warp more shows what no launch can have
    while open_ := [one for one in sizes if one not in found]:
        if following in open_ and by_itself:
            threads = following
        elif alone:
            threads = open_[-1] if open_[-1] == sizes[-1] else open_[len(open_) // 2]
        else:
            threads = open_[0]
        if budget < work * (1 if alone or threads == following else len(open_)):
            return None
        until = impossible if threads == following and by_itself else frozenset[str]()
        taken, codes = tried(replace(shape, block=(threads, 1, 1)), until)
        budget -= taken
        if codes is None:
            return None
        note(threads, codes)
    wrong = {one: codes for one, codes in found.items() if not codes <= no_launch and codes.isdisjoint(impossible)}
    every = frozenset().union(*wrong.values())
    return Blocks(tuple(one for one in sizes if not found[one]), tuple(sorted(wrong)), tuple(sorted(every)))


def fewer_threads(shape: Shape) -> Iterator[int]:
    """Numbers of whole warps below that of a launch, to three quarters of it: more than one, so that they can meet."""
    most = shape.threads // shape.warp
    for warps in range(most - 1, max(-(-most * 3 // 4), 2) - 1, -1):
        yield warps * shape.warp


def other_rows(shape: Shape) -> Iterator[Shape]:
    """The launches with as many threads in rows of another power of two, or in one row; rows follow along y or z."""
    threads, deep = shape.threads, shape.block[2] > 1
    lengths = dict.fromkeys([1 << n for n in range(threads.bit_length()) if threads % (1 << n) == 0] + [threads])
    for length in lengths:
        count = threads // length
        block = (length, 1, count) if deep else (length, count, 1)
        if block != shape.block:
            yield replace(shape, block=block)


def right_in_rows(
    shape: Shape, work: int, tried: Callable[[Shape, Set[str]], tuple[int, Set[str] | None]], budget: int
) -> bool:
    """Whether a kernel that goes right with its threads in rows does so with rows of each power of two.

    So it is where it asks for the rank of a thread among all. Not known where that takes more than the budget.

    Args:
        shape: with which it goes right.
        work: the instructions that it took.
        tried: as of ``right_in_blocks``.
    """
    for other in other_rows(shape):
        if budget < work:
            return False
        taken, codes = tried(other, frozenset())
        budget -= taken
        if codes is None or codes:
            return False
    return True


def _numbered(book: Rulebook, steps: Sequence[Operation]) -> bool:
    """Whether what a thread of a kernel comes to may depend on how many others there are."""
    operations, numbered = Operations.of(book), {one[1:] for one in book.enums["numbered_step"].members}
    return any(
        (step := operations.step(one.name)) in numbered or (step == "cta_barrier" and len(one.operands) > 1)
        for one in steps
    )

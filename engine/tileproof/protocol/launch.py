"""What a kernel is launched with: what the kernel declares, what the host code beside it says, else an assumption.

An assumption is a number of threads that the kernel itself asks for, and other launches are as possible: the verdict is
that of the launch that speaks best for the kernel, so that no error rests on an assumption alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.judge.launches import Three
from tileproof.memory.known_bits import fold
from tileproof.memory.origins import origin_of
from tileproof.memory.tensor_maps import kernel_name, mapped
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.protocol.asked import constant_of, threads_asked
from tileproof.protocol.budget import limit
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.steps import words
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated, state

Said: TypeAlias = "tuple[Three | None, Three | None]"  # of a kernel by the user: its block and its cluster
Global: TypeAlias = (
    "tuple[int, int, bool]"  # what defines some global memory: the operation by ``id``, which value of it
)

IN_ROWS = "ptx.in_rows"  # an attribute of a kernel that asks in which row of its CTA a thread is, along which dimension
_DIMENSIONS = regex(r"\d+")
_CALLEE = regex(r"@[\w$.-]+(?:::@([\w$.-]+))?")
_BLOCKS = ("nvvm.reqntid", "gpu.known_block_size")
_CLUSTERS = ("nvvm.cluster_dim", "gpu.known_cluster_size")
_CLUSTER_OF_ONE = regex(r"cluster_launch\s*=\s*false")
_DYNAMIC = regex(r"\bdynamicSmemBytes\s*=\s*(%[\w$.#-]+)")
_CONFIGURATION = "cuda.launch_cfg."
_OVERLAP = "cuda.launch_cfg.programmatic_stream_serialization_allowed"
_LAUNCHES = ("cuda.launch_ex", "cuda.launch")
_MORE_WARPS = (0, 1, 2, 3, 4)  # than the kernel asks for, of other launches
_WARPGROUPS = (1, 2, 3, 4)
_POSSIBLE_CLUSTERS = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (4, 1, 1))


@dataclass(frozen=True, slots=True)
class Blocks:
    """With how many threads in a CTA a kernel goes right, of all numbers of whole warps that it may have.

    Numbers that no launch can have are in neither: a warp would reach for what is another warp's, or threads wait for
    ever.

    Attributes:
        right, wrong: numbers of threads, in order.
        codes: the findings of runs with wrong ones, in order.
    """

    right: tuple[int, ...]
    wrong: tuple[int, ...]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The launches of a kernel.

    Attributes:
        shapes: where the text says all of it, the different launches, each of which must be right. Else the one that
            is assumed, and others that are as possible: the kernel is right if it is right in one of them.
        block_known: whether the text says how many threads a CTA has, or nothing in the kernel depends on it.
        cluster_known: the same of the number of CTAs of a cluster.
        ptx: whether the text is PTX.
        wrong_anyhow: whether something goes wrong with every number of CTAs of a cluster.
        others: the clusters of a power of two that may be meant as well, where something goes wrong with every one.
        wrong_in_any_block: whether something goes wrong with every number of whole warps, or in rows of every length.
        blocks: with which of them it goes right, where that is known of all.
        bound: whether .maxntid says how many threads a CTA has at most.
    """

    shapes: tuple[Shape, ...]
    block_known: bool
    cluster_known: bool
    ptx: bool = False
    wrong_anyhow: bool = False
    others: tuple[Shape, ...] = ()
    wrong_in_any_block: bool = False
    blocks: Blocks | None = None
    bound: bool = False

    @property
    def in_rows(self) -> bool:
        """Whether as many threads as there are at most may lie in rows of any length."""
        first = self.shapes[0]
        return self.bound and not self.block_known and first.block[0] < first.threads

    @property
    def known(self) -> bool:
        """Whether nothing is assumed."""
        return self.block_known and self.cluster_known

    def assumptions(self, book: Rulebook, shape: Shape) -> Iterator[tuple[str, Stated]]:
        """What is assumed where the kernel is judged by one of the shapes: cases of finding PR190, in words."""
        block, cluster = ("ptx_block", "ptx_cluster") if self.ptx else ("assumed_block", "assumed_cluster")
        if self.wrong_in_any_block and self.in_rows:
            x, y, z = shape.block
            yield "any_block", state(book, "PR190", "any_rows", x=x, y=y, z=z)
        elif self.wrong_in_any_block:
            most = hardware.limit(book, "cta_threads")
            yield "any_block", state(book, "PR190", "any_block", threads=shape.threads, most=most)
        elif self.blocks is not None:
            if self.blocks.wrong:
                right, wrong = (in_ranges(one, shape.warp) for one in (self.blocks.right, self.blocks.wrong))
                codes, threads = ", ".join(self.blocks.codes), shape.threads
                said = state(book, "PR190", "ptx_blocks", threads=threads, right=right, wrong=wrong, codes=codes)
                yield "assumed_block", said
        elif not self.block_known and shape.block[0] < shape.threads:
            x, y, z = shape.block
            yield "assumed_block", state(book, "PR190", "ptx_rows", x=x, y=y, z=z)
        elif not self.block_known:
            yield "assumed_block", state(book, "PR190", block, threads=shape.threads)
        if self.wrong_anyhow:
            yield (
                "any_cluster",
                state(book, "PR190", "any_cluster", ctas=shape.ctas, most=hardware.limit(book, "cluster_ctas")),
            )
        elif not self.cluster_known:
            x, y, z = shape.cluster
            yield "assumed_cluster", state(book, "PR190", cluster, ctas=shape.ctas, x=x, y=y, z=z)


def in_ranges(numbers: Sequence[int], step: int) -> str:
    """Numbers in order, those that follow each other by a step as a range."""
    ranges: list[list[int]] = []
    for one in numbers:
        if ranges and one == ranges[-1][-1] + step:
            ranges[-1][1:] = [one]
        else:
            ranges.append([one])
    return ", ".join(" to ".join(map(str, one)) for one in ranges)


def least_threads(book: Rulebook, inside: Sequence[Operation]) -> int:
    """The fewest threads that a CTA with these steps has: a warp, or a warpgroup that executes one of them together.

    A barrier of all threads does not ask for more: a warp may have one as well (TileFusion).
    """
    operations, together = Operations.of(book), {one[1:] for one in book.enums["warpgroup_step"].members}
    warps = hardware.limit(book, "group_warps") if any(operations.step(one.name) in together for one in inside) else 1
    return warps * hardware.limit(book, "warp_threads")


@dataclass(frozen=True, slots=True)
class _Stated:
    """Block and cluster of one launch, and the bytes of its dynamic shared memory; None where the text does not say."""

    block: Three | None
    cluster: Three | None
    dynamic: int | None = None


def launch(
    book: Rulebook,
    kernel: Operation,
    inside: Sequence[Operation],
    operations: Sequence[Operation],
    aliases: Mapping[str, Alias],
    said: Said = (None, None),
) -> Launch:
    """How a kernel is launched.

    Args:
        said: what the user says: it holds where the text does not say it, or says how many threads there are at most.
        inside: the operations of the kernel, whose allocations give the depth of the deepest ring.
        operations: those of the module, whose host code may launch the kernel.
    """
    block, cluster = _declared(kernel)
    stated: tuple[_Stated, ...] = (_Stated(block, cluster),)
    if block is None or cluster is None:
        hosts = _hosts(book, kernel, operations)
        stated = tuple(dict.fromkeys(_Stated(block or one.block, cluster or one.cluster) for one in hosts)) or stated
    bound = _three(kernel, "nvvm.maxntid")
    if said[0] is not None and (bound is None or prod(said[0]) <= prod(bound)):
        stated = tuple(_Stated(said[0] if bound else one.block or said[0], one.cluster) for one in stated)
    stated = tuple(_Stated(one.block, one.cluster or said[1]) for one in stated)
    warp = hardware.limit(book, "warp_threads")
    if all(one.cluster is None for one in stated) and not _holds(book, "cluster_word", inside, aliases):
        stated = tuple(_Stated(one.block, (1, 1, 1)) for one in stated)
    if all(one.block is None for one in stated) and not _holds(book, "block_word", inside, {}):
        stated = tuple(_Stated((hardware.limit(book, "group_warps") * warp, 1, 1), one.cluster) for one in stated)
    rounds, more = limit(book, "ring_rounds"), limit(book, "ring_turns")
    depth = min(_deepest_ring(inside), limit(book, "ring_stages"))
    turns = max(rounds * depth + more, limit(book, "least_turns"))

    def shape(block: Three, cluster: Three) -> Shape:
        return Shape(block, cluster, turns, Extents(turns, turns), warp)

    found = []
    ptx = kernel.attribute("ptx.kernel") is not None
    block_known = all(one.block is not None for one in stated)
    cluster_known = all(one.cluster is not None for one in stated)
    for one in stated:
        blocks = (one.block,) if one.block is not None else _possible_blocks(book, kernel, inside)
        clusters = (one.cluster,) if one.cluster is not None else _possible_clusters(book, inside)
        found += [shape(blocks[0], ctas) for ctas in clusters]
        found += [shape(threads, clusters[0]) for threads in blocks[1:]]
    return Launch(tuple(dict.fromkeys(found)), block_known, cluster_known, ptx, bound=bound is not None)


def stated(
    book: Rulebook, kernel: Operation, operations: Sequence[Operation]
) -> tuple[tuple[Three | None, int | None], ...]:
    """What the launches of a kernel say, as the text has them: the cluster, and the bytes of dynamic shared memory.

    None where the text does not say it; no launch where it has none.
    """
    _, cluster = _declared(kernel)
    hosts = _hosts(book, kernel, operations) or ([_Stated(None, None)] if cluster is not None else [])
    return tuple(dict.fromkeys((cluster or one.cluster, one.dynamic) for one in hosts))


def _declared(kernel: Operation) -> tuple[Three | None, Three | None]:
    """What the kernel says of block and cluster: attributes, or the launch facts that the compiler recorded."""
    block = next(filter(None, (_three(kernel, name) for name in _BLOCKS)), None)
    cluster = next(filter(None, (_three(kernel, name) for name in _CLUSTERS)), None)
    facts = kernel.attribute("cutlass_launch_facts")
    text = facts.text if facts is not None else words(kernel)
    block = block or _array(text, "exact_block_dim")
    cluster = cluster or _array(text, "cluster_dim")
    if cluster is None and _CLUSTER_OF_ONE.search(text) is not None:
        cluster = (1, 1, 1)
    return block, cluster


def _three(kernel: Operation, name: str) -> Three | None:
    attribute = kernel.attribute(name)
    return None if attribute is None else _dimensions(attribute.text.partition(":")[2])


def _array(text: str, name: str) -> Three | None:
    found = re.search(rf"{name}\s*=\s*array<i\d+:\s*([^>]*)>", text)
    return None if found is None else _dimensions(found[1])


def _dimensions(text: str) -> Three | None:
    """Three positive numbers; fewer are those of x and y."""
    numbers = [int(n) for n in _DIMENSIONS.findall(text)]
    if not 1 <= len(numbers) <= 3 or not all(numbers):
        return None
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


# -- the host code


def _hosts(book: Rulebook, kernel: Operation, operations: Sequence[Operation]) -> list[_Stated]:
    """What each launch of a kernel in the module says, in textual order."""
    name = kernel_name(kernel)
    return [stated for function in _host_code(operations) for stated in _launches(book, function, name)]


def _host_code(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The functions outside kernels that launch something, and modules of them opened."""
    for operation in operations:
        if operation.name in ("builtin.module", "module", "gpu.module"):
            for region in operation.regions:
                for block in region.blocks:
                    yield from _host_code(block.operations)
        elif operation.regions and operation.name != "cuda.kernel" and operation.attribute("gpu.kernel") is None:
            yield operation


def _launches(book: Rulebook, function: Operation, name: str | None) -> Iterator[_Stated]:
    clusters: dict[int, list[Three | None]] = {}  # by the operation that creates a configuration
    for operation, scope in walk((function,)):
        if operation.name.startswith(_CONFIGURATION) and operation.name.endswith("cluster_dim"):
            made = scope.get(operation.operands[0]) if operation.operands else None
            if made is not None:
                found = clusters.setdefault(id(made.operation), [])
                found.append(_constants(book, operation.operands[1:4], scope))
        elif operation.name in _LAUNCHES and _callee(operation) == name and operation.operands:
            made = scope.get(operation.operands[0])
            if made is None or made.argument or made.operation.name != _CONFIGURATION + "create":
                yield _Stated(None, None)
                continue
            block = _constants(book, _written(made.operation, "blockDim", 0), scope)
            size = _DYNAMIC.search(made.operation.pieces[0])
            dynamic = _constant(book, size[1], scope) if size is not None else None
            for cluster in clusters.get(id(made.operation), [(1, 1, 1)]):
                yield _Stated(block, cluster, dynamic)
        elif operation.name == "gpu.launch_func" and _callee(operation) == name:
            yield _launched(book, operation, scope)


@dataclass(frozen=True, slots=True)
class Overlap:
    """A launch of a kernel that may begin before the grid before it has ended.

    Attributes:
        allowance: what the launch says so by.
        later: whether the same host function launches something behind it.
        earlier: the kernel that it launches before; None where it launches none.
        shared: by argument of the kernel, the arguments of that one that are of the same global memory.
    """

    allowance: Operation
    later: bool
    earlier: str | None = None
    shared: Mapping[int, frozenset[int]] = field(default_factory=dict)


def overlap(book: Rulebook, kernel: Operation, operations: Sequence[Operation]) -> Overlap | None:
    """The first launch of a kernel that may overlap with the grid before it; None where there is none."""
    name, known = kernel_name(kernel), Operations.of(book)
    for function in _host_code(operations):
        allowed: dict[int, Operation] = {}  # by the operation that creates a configuration
        found, launches = None, 0
        before: tuple[str | None, list[Global | None]] = (None, [])
        for operation, scope in walk((function,)):
            if operation.name == _OVERLAP and len(operation.operands) > 1:
                made = scope.get(operation.operands[0])
                if made is not None and _constant(book, operation.operands[1], scope) == 1:
                    allowed[id(made.operation)] = operation
            elif operation.name in _LAUNCHES and operation.operands:
                made = scope.get(operation.operands[0])
                given = [_global(one, scope, known) for one in operation.operands[1:]]
                if found is None and made is not None and id(made.operation) in allowed and _callee(operation) == name:
                    earlier, theirs = before
                    shared = {
                        place: frozenset(at for at, other in enumerate(theirs) if other is not None and other == one)
                        for place, one in enumerate(given)
                        if one is not None
                    }
                    found = Overlap(allowed[id(made.operation)], False, earlier, shared)
                before = (_callee(operation) or "", given)
                launches += 1
        if found is not None:
            return replace(found, later=launches > 1 and found.earlier is None)
    return None


def _global(name: str, scope: Scope, known: Operations) -> Global | None:
    """The global memory that an argument of a launch is of, or that its tensor map is of."""
    origin = origin_of(name, scope, known)
    source = mapped(origin) if origin is not None else None
    origin = origin if source is None else origin_of(source, scope, known)
    return None if origin is None else (id(origin.operation), origin.index, origin.argument)


def _callee(operation: Operation) -> str | None:
    attribute = operation.attribute("callee") or operation.attribute("kernel")
    found = _CALLEE.search(attribute.text if attribute is not None else operation.pieces[0])
    return None if found is None else found[1] or found[0][1:]


def _launched(book: Rulebook, operation: Operation, scope: Scope) -> _Stated:
    """What ``gpu.launch_func`` says."""
    sizes = operation.attribute("operandSegmentSizes")
    if sizes is None:
        threads = _constants(book, _listed(operation, "threads"), scope)
        named = _listed(operation, "clusters")
        return _Stated(threads, _constants(book, named, scope) if named else (1, 1, 1))
    counts = [int(n) for n in _DIMENSIONS.findall(sizes.text.partition(":")[2])]
    first = counts[0] if counts else 0
    clustered = len(counts) > 9 and all(counts[7:10])
    operands = operation.operands
    block = _constants(book, operands[first + 3 : first + 6], scope)
    return _Stated(block, _constants(book, operands[first + 6 : first + 9], scope) if clustered else (1, 1, 1))


def _written(operation: Operation, name: str, first: int) -> Sequence[str]:
    """The three operands of a name in the custom form; in the generic form, those from a place on."""
    found = re.search(rf"\b{name}\s*=\s*\(([^)]*)\)", operation.pieces[0])
    return re.findall(r"%[\w$.#-]+", found[1]) if found is not None else operation.operands[first : first + 3]


def _listed(operation: Operation, name: str) -> Sequence[str]:
    found = re.search(rf"\b{name} in \(([^)]*)\)", operation.pieces[0])
    return re.findall(r"%[\w$.#-]+", found[1]) if found is not None else ()


def _constants(book: Rulebook, names: Sequence[str], scope: Scope) -> Three | None:
    values = [_constant(book, name, scope) for name in names]
    if len(values) != 3 or not all(values):
        return None
    x, y, z = values
    assert x is not None and y is not None and z is not None
    return x, y, z


def _constant(book: Rulebook, name: str, scope: Scope) -> int | None:
    """The value of a constant, or of arithmetic on constants."""
    origin = scope.get(name)
    while origin is not None and not origin.argument and origin.operation.name.startswith("arith.index_cast"):
        name = origin.operation.operands[0]
        origin = scope.get(name)
    if origin is None or origin.argument:
        return None
    found = constant_of(origin.operation)
    return found if found is not None else fold(book, name, scope).value


# -- what is assumed


def _holds(book: Rulebook, enum: str, inside: Sequence[Operation], aliases: Mapping[str, Alias]) -> bool:
    """Whether a kernel, or an alias that it may use, holds one of the words of an enum."""
    depends = re.compile("|".join(map(re.escape, book.enums[enum].by_spelling)))
    texts = (alias.text for alias in aliases.values())
    return any(depends.search(text) for text in texts) or any(depends.search(words(one)) for one in inside)


def _possible_clusters(book: Rulebook, inside: Sequence[Operation]) -> tuple[Three, ...]:
    """Clusters to try, the smallest first; pairs of CTAs first where the kernel works in pairs."""
    pairs = [word for word, member in book.enums["cluster_word"].by_spelling.items() if member == ".pair"]
    paired = any(word in text for text in map(words, inside) for word in pairs)
    return _POSSIBLE_CLUSTERS[1:] if paired else _POSSIBLE_CLUSTERS


def _possible_blocks(book: Rulebook, kernel: Operation, inside: Sequence[Operation]) -> tuple[Three, ...]:
    """Blocks to try: a warpgroup or as many threads as the kernel asks for, some warps more, warpgroups, warps; no less
    than a warpgroup where one executes a step together.

    Of a kernel that asks in which row a thread is: rows of a warp or half a warp along the second dimension, of a
    warpgroup or a warp along the third, as many as it may have at most.
    """
    warp, most = hardware.limit(book, "warp_threads"), hardware.limit(book, "cta_threads")
    group = hardware.limit(book, "group_warps") * warp
    bound = _three(kernel, "nvvm.maxntid")
    if bound is not None:
        most = min(most, prod(bound))
    asked = max(threads_asked(kernel, Operations.of(book), warp) or 0, least_threads(book, inside))
    least = min(-(-asked // warp) * warp, most)
    first = min(max(least, group), most)
    sizes = [first + more * warp for more in _MORE_WARPS]
    sizes += [n * group for n in _WARPGROUPS] + [least + more * warp for more in _MORE_WARPS]
    asks = kernel.attribute(IN_ROWS)
    if asks is None:
        return tuple((size, 1, 1) for size in dict.fromkeys(sizes) if least <= size <= most)
    sizes = [size for size in dict.fromkeys([most if bound is not None else first, *sizes]) if warp < size <= most]
    rows: list[Three] = [(length, size // length, 1) for size in sizes for length in (warp, warp // 2)]
    if asks.text == "z":
        lengths = [(length, size // length) for size in sizes for length in (group, warp) if not size % length]
        rows = [(length, 1, count) for length, count in lengths if count > 1]
    return (*rows, (most if bound is not None else first, 1, 1))


def _deepest_ring(inside: Sequence[Operation]) -> int:
    """The stages of the deepest ring of mbarriers that is allocated; at least 2."""
    depth = 2
    for operation in inside:
        fields = operation.attribute("smem.struct_fields")
        if fields is not None:
            for size in re.findall(r'"[^":]*mbar[^":]*:(\d+):\d+"|"[^":]*pipeline[^":]*:(\d+):\d+"', fields.text):
                depth = max(depth, int(size[0] or size[1]) // 8)
    return depth

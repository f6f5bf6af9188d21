"""The CuTe layout algebra: pure functions on frozen values, no input or output.

**A layout is a function.** ``(4,8):(1,4)``, a shape and a stride, maps a coordinate ``(i,j)`` to the offset ``1*i +
4*j``. Shape and stride are hierarchical tuples of one profile: ``((2,2),8):((1,16),2)`` is a function of
``((i,j),k)``. An offset need not be an integer. With strides such as ``1@0`` and ``1@1``, scaled basis elements, a
layout maps to coordinates again; that is how tensor maps and identity tensors keep track of the position of a tile.

**A coordinate may be coarser than the shape.** Any mode can be addressed by one integer, which then counts
*colexicographically* through it: the first mode runs fastest. ``9`` in the shape ``(4,8)`` is ``(1,2)``, so every
layout is also a function of one integer in ``[0, size)``. Two layouts with that same function are *equivalent*;
``coalesce`` finds the simplest of them by merging neighbours ``s:d``, ``t:s*d`` into ``s*t:d`` and dropping modes of
extent one. The last mode is unbounded.

**Composition** ``R = composition(A, B)`` is ``R(c) = A(B(c))`` for all ``c`` of ``B``. For it to be a layout again
each mode ``s:d`` of ``B`` must walk through ``A`` evenly: its step ``d`` must come out whole against the extents of
``A`` that it jumps over, and its ``s`` elements must fill what those extents leave. These are the *divisibility
conditions*. Where they fail no layout has that function, and the operation is refused with the mode and the
condition that failed. One case is CuTe's, and kept: a step smaller than an extent that it does not divide is
accepted, and then ``R`` is not ``A o B``.

**Complement** ``complement(A, M)`` enumerates, in increasing order, what ``A`` leaves out of ``[0, M)``: together
they reach each offset once. It exists where the modes of ``A``, ordered by stride, nest without interleaving.

**Division** splits: ``logical_divide(A, T) = A o (T, complement(T, size(A)))``. The tiler ``T`` picks the elements of
the first tile, the complement steps from tile to tile. **Product** repeats: ``logical_product(A, T) = (A,
complement(A, size(A)*cosize(T)) o T)`` places copies of ``A`` at the positions of ``T``, in the gaps of ``A``. The
other divisions and products only rearrange the modes of these two.

**Inverses**: ``right_inverse(A)`` finds, as long as offsets run 0, 1, 2, ..., the index of each; ``left_inverse(A)``
recovers the index of every offset that ``A`` reaches.

**Composed layouts** ``inner o offset o outer`` are functions too general for one layout, usually because ``inner`` is a
swizzle, an xor of offset bits. Operations act on ``outer``, which meets the coordinate.

**Dynamic leaves** ``?{i64 div=8}`` are integers known only at run time. Arithmetic on them keeps what stays
true, a width and a divisor, exactly as the ``cute`` dialect infers it.

Where an operation has no result it raises ``LayoutError``, whose message names the mode and the condition.
"""

from tileproof.layout.basics import (
    append_to_rank,
    coalesce,
    depth,
    filter,
    filter_zeros,
    flatten,
    get,
    get_shape,
    group_modes,
    has_scaled_basis,
    is_static_layout,
    make_layout,
    prepend_to_rank,
    rank,
    select,
    size,
    stride_of,
)
from tileproof.layout.compare import (
    compatible,
    equivalent,
    max_common_layout,
    max_common_vector,
    normalize,
    verify_operand_layout,
    weakly_compatible,
)
from tileproof.layout.composing import composition
from tileproof.layout.constructors import (
    local_partition,
    local_tile,
    make_identity_layout,
    make_layout_like,
    make_ordered_layout,
    tile_to_shape,
)
from tileproof.layout.coordinates import (
    cosize,
    crd2idx,
    get_flat_coord,
    get_hier_coord,
    idx2crd,
    offsets,
)
from tileproof.layout.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import complement, left_inverse, right_inverse
from tileproof.layout.numeric import crd2idx_many
from tileproof.layout.products import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tiled_product,
    zipped_product,
)
from tileproof.layout.recast import downcast, recast_layout, upcast
from tileproof.layout.slicing import dice, slice, slice_and_offset
from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.tuples import (
    add,
    ceil_div,
    congruent,
    div,
    elem_less,
    equal,
    increment_coord,
    mod,
    mul,
    product,
    product_each,
    shape_div,
    sub,
    weakly_congruent,
)
from tileproof.layout.values import (
    Basis,
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    Tile,
    Tuple,
    Value,
    Wildcard,
    show,
    show_value,
)

__all__ = [
    "Basis",
    "ComposedLayout",
    "Dynamic",
    "Layout",
    "LayoutError",
    "Swizzle",
    "Tile",
    "Tuple",
    "Value",
    "Wildcard",
    "add",
    "append_to_rank",
    "apply_swizzle",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "cosize",
    "crd2idx",
    "crd2idx_many",
    "depth",
    "dice",
    "div",
    "downcast",
    "elem_less",
    "equal",
    "equivalent",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "get_flat_coord",
    "get_hier_coord",
    "get_shape",
    "group_modes",
    "has_scaled_basis",
    "idx2crd",
    "increment_coord",
    "is_static_layout",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_ordered_layout",
    "max_common_layout",
    "max_common_vector",
    "mod",
    "mul",
    "normalize",
    "offsets",
    "prepend_to_rank",
    "product",
    "product_each",
    "raked_product",
    "rank",
    "recast_layout",
    "right_inverse",
    "select",
    "shape_div",
    "show",
    "show_value",
    "size",
    "slice",
    "slice_and_offset",
    "stride_of",
    "sub",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "verify_operand_layout",
    "weakly_compatible",
    "weakly_congruent",
    "zipped_divide",
    "zipped_product",
]

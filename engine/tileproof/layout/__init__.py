"""The CuTe layout algebra."""

from tileproof.layout.basics import (
    append_to_rank,
    coalesce,
    cosize,
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
)
from tileproof.layout.composition import composition
from tileproof.layout.constructors import (
    local_partition,
    local_tile,
    make_identity_layout,
    make_layout_like,
    make_ordered_layout,
    tile_to_shape,
)
from tileproof.layout.coordinates import (
    crd2idx,
    dice,
    get_flat_coord,
    get_hier_coord,
    idx2crd,
    offsets,
    slice,
    slice_and_offset,
)
from tileproof.layout.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import complement, left_inverse, right_inverse
from tileproof.layout.product import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tiled_product,
    zipped_product,
)
from tileproof.layout.recast import downcast, recast_layout, upcast
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

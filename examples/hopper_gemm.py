"""A small Hopper GEMM in CuTe DSL: D[m, n] = sum over k of A[m, k] * B[n, k].

TMA brings 128 x 64 tiles of A and B to swizzled shared memory through a ring of four buffers, one warpgroup multiplies
them with WGMMA, and each thread stores its part of the accumulator. It compiles without a GPU:

    CUTE_DSL_ARCH=sm_90a tileproof run -- python examples/hopper_gemm.py

hopper_gemm.mlir beside this file is what CuTe DSL 4.8.1 dumps for f16; `--type f8` compiles the same kernel for FP8.
"""

import argparse

import cutlass
import cutlass.utils.hopper_helpers as hopper
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.memory import SmemAllocator
from cutlass.tensor_utils import LayoutEnum

TILE = (128, 128, 64)  # M, N, K of one block
STAGES = 4
THREADS = 128  # one warpgroup
TYPES = {"f16": cutlass.Float16, "bf16": cutlass.BFloat16, "f8": cutlass.Float8E4M3FN}


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor) -> None:
    element = a.element_type
    row_major = LayoutEnum.ROW_MAJOR
    k_major = OperandMajorMode.K
    mma = hopper.make_trivial_tiled_mma(element, element, k_major, k_major, cutlass.Float32, (1, 1, 1), (64, TILE[1]))
    a_layout = hopper.make_smem_layout_a(row_major, TILE, element, STAGES)
    b_layout = hopper.make_smem_layout_b(row_major, TILE, element, STAGES)
    load = cpasync.CopyBulkTensorTileG2SOp()
    a_load, a_coords = cpasync.make_tiled_tma_atom(load, a, cute.slice_(a_layout, (None, None, 0)), (TILE[0], TILE[2]))
    b_load, b_coords = cpasync.make_tiled_tma_atom(load, b, cute.slice_(b_layout, (None, None, 0)), (TILE[1], TILE[2]))
    grid = (*cute.ceil_div(d.shape, TILE[:2]), 1)
    kernel(element, mma, a_load, a_coords, b_load, b_coords, d, a_layout, b_layout).launch(
        grid=grid, block=(THREADS, 1, 1)
    )


@cute.kernel
def kernel(
    element: cutlass.Constexpr,
    mma: cute.TiledMma,
    a_load: cute.CopyAtom,
    a_coords: cute.Tensor,
    b_load: cute.CopyAtom,
    b_coords: cute.Tensor,
    d: cute.Tensor,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    # Shared memory: the buffers, and the barriers that say which of them are full and which are empty.
    shared = SmemAllocator()
    barriers = shared.allocate_array(cutlass.Int64, 2 * STAGES)
    a_tiles = shared.allocate_tensor(element, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    b_tiles = shared.allocate_tensor(element, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    stage_bytes = cute.size_in_bytes(element, cute.slice_(a_layout, (None, None, 0)))
    stage_bytes += cute.size_in_bytes(element, cute.slice_(b_layout, (None, None, 0)))
    producer, consumer = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, THREADS // 32),
        tx_count=stage_bytes,
        barrier_storage=barriers,
        cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
        enable_multicast_signaling=False,
    ).make_participants()

    # Where TMA reads and writes: (elements of one tile, tile along K) and (elements of one tile, buffer).
    a_source = cute.local_tile(a_coords, (TILE[0], TILE[2]), (block_m, None))
    b_source = cute.local_tile(b_coords, (TILE[1], TILE[2]), (block_n, None))
    one = cute.make_layout(1)
    a_to, a_from = cpasync.tma_partition(
        a_load, 0, one, cute.group_modes(a_tiles, 0, 2), cute.group_modes(a_source, 0, 2)
    )
    b_to, b_from = cpasync.tma_partition(
        b_load, 0, one, cute.group_modes(b_tiles, 0, 2), cute.group_modes(b_source, 0, 2)
    )

    # What the warpgroup multiplies: descriptors of shared memory, and the accumulator in registers.
    part = mma.get_slice(thread)
    a_fragment = mma.make_fragment_A(part.partition_A(a_tiles))
    b_fragment = mma.make_fragment_B(part.partition_B(b_tiles))
    d_tile = part.partition_C(cute.local_tile(d, TILE[:2], (block_m, block_n)))
    accumulator = mma.make_fragment_C(d_tile.shape)
    mma.set(warpgroup.Field.ACCUMULATE, False)

    tiles = cute.size(a_source, mode=[2])
    ahead = cutlass.min(tiles, STAGES - 1)
    if warp == 0:
        for k in cutlass.range(ahead, unroll=1):
            empty = producer.acquire_and_advance()
            cute.copy(a_load, a_from[None, k], a_to[None, empty.index], tma_bar_ptr=empty.barrier)
            cute.copy(b_load, b_from[None, k], b_to[None, empty.index], tma_bar_ptr=empty.barrier)
            empty.commit()

    for k in cutlass.range(tiles, unroll=1):
        full = consumer.wait_and_advance()
        warpgroup.fence()
        for block in cutlass.range_constexpr(cute.size(a_fragment, mode=[2])):
            index = (None, None, block, full.index)
            cute.gemm(mma, accumulator, a_fragment[index], b_fragment[index], accumulator)
            mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        full.release()
        if warp == 0 and k + ahead < tiles:
            empty = producer.acquire_and_advance()
            cute.copy(a_load, a_from[None, k + ahead], a_to[None, empty.index], tma_bar_ptr=empty.barrier)
            cute.copy(b_load, b_from[None, k + ahead], b_to[None, empty.index], tma_bar_ptr=empty.barrier)
            empty.commit()

    result = cute.make_fragment_like(accumulator, d.element_type)
    result.store(accumulator.load().to(d.element_type))
    cute.autovec_copy(result, d_tile)


def tensor(element: type[cutlass.Numeric], rows: int, columns: int) -> cute.Tensor:
    """A row-major matrix of which only the type exists: all that the compiler needs."""
    return make_fake_compact_tensor(element, (rows, columns), stride_order=(1, 0), assumed_align=16)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compile the GEMM for 1024 x 1024 x 512 matrices.")
    parser.add_argument("--type", choices=TYPES, action="append", help="input type, repeatable; default: f16")
    for name in parser.parse_args().type or ["f16"]:
        element = TYPES[name]
        cute.compile(gemm, tensor(element, 1024, 512), tensor(element, 1024, 512), tensor(cutlass.Float16, 1024, 1024))
        print(f"compiled the {name} GEMM")

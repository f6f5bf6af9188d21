"""Which operations of NVIDIA's dialect have an inference function, and that these agree with it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from operation_cases import operation_cases
from partition_cases import Case
from tensormap_cases import tensormap_cases
from wheel import answers, disagreements, ours

from tileproof.dialects.infer import Refusal, infer, operations

# Operations of the wheel without an inference function, by the reason.
NO_RESULT = """
cute.copy cute.copy_atom_call cute.gemm cute.mma_atom_call cute.prefetch cute.prefetch_atom_call cute.print
cute.print_tma_desc_im2col cute.print_tma_desc_tiled cute.print_view cute.random_delay
cute_nvgpu.arch.copy.SM100.copy_s2t cute_nvgpu.arch.copy.SM100.tma_load cute_nvgpu.arch.copy.SM100.tma_reduce
cute_nvgpu.arch.copy.SM100.tma_store cute_nvgpu.arch.copy.SM100.tmem_store
cute_nvgpu.arch.copy.SM107.tma_load_override cute_nvgpu.arch.copy.SM107.tma_store_override
cute_nvgpu.arch.copy.SM90.bulk_copy_g2s cute_nvgpu.arch.copy.SM90.bulk_copy_s2g
cute_nvgpu.arch.copy.SM90.bulk_copy_s2s cute_nvgpu.arch.mma.SM107.umma cute_nvgpu.arch.mma.SM107.umma_block_scaled
cute_nvgpu.arch.mma.SM107.umma_block_scaled_sparse cute_nvgpu.arch.mma.SM107.umma_sparse
cute_nvgpu.arch.prefetch_tma_desc cute_nvgpu.arch.sm100.alloc_tmem cute_nvgpu.arch.sm100.dealloc_tmem
cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit cute_nvgpu.copy_tma_desc cute_nvgpu.make_tma_desc_im2col_at
cute_nvgpu.make_tma_desc_tiled_at cute_nvgpu.prefetch_tma_desc cute_nvgpu.update_tma_desc
"""
ONLY_DECLARED = """
cute.fast_divmod.make_divisor cute.make_desc_iter cute.make_sparse_elem cute.make_tiled_copy_v2 cute.make_tuple
cute.memref.alloc_smem cute.symbolic cute.unpack_tuple cute_nvgpu.arch.alloc_rmem cute_nvgpu.arch.alloc_smem
cute_nvgpu.arch.copy.SM100.tmem_load cute_nvgpu.arch.get_dyn_smem cute_nvgpu.arch.mma.SM120.block_scaled
cute_nvgpu.arch.sm100.retrieve_tmem_ptr cute_nvgpu.atom.get_value cute_nvgpu.cast_tma_desc_to_integer
cute_nvgpu.get_tma_desc_addr cute_nvgpu.make_tma_desc_im2col cute_nvgpu.make_tma_desc_tiled
"""
"""The dialect believes the declared result of these."""
OPEN = """
cute.deref_desc_iter
cute_nvgpu.atom.make_non_exec_2d_gather4_tma_load cute_nvgpu.atom.make_non_exec_2d_scatter4_tma_store
cute_nvgpu.atom.make_non_exec_im2col_tma_load cute_nvgpu.atom.make_non_exec_im2col_tma_store
cute_nvgpu.atom.sm107.get_copy_s2t_smem_desc_view cute_nvgpu.get_grid_constant_pointer
"""
"""The dialect infers a result and we do not: what is declared is believed."""
FROM_ANOTHER_GENERATION = """
cute.flatten cute.layout_eval cute.to_coord cute.to_shape cute.to_stride cute.tuple_product cute.tuple_product_each
cute_nvgpu.arch.make_warp_uniform
"""
"""Of the published tests; the wheel does not register them, or not in this dialect."""


def registered() -> set[str]:
    """The operations that the wheel's Python bindings know."""
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("nvidia-cutlass-dsl is not installed")
    found = importlib.util.find_spec("cutlass")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "_mlir" / "dialects"
    texts = [(folder / f"_{name}_ops_gen.py").read_text(encoding="utf-8") for name in ("cute", "cute_nvgpu")]
    return {name for text in texts for name in re.findall(r'OPERATION_NAME = "(.*?)"', text)}


@pytest.mark.oracle
def test_every_operation_of_the_wheel_is_inferred_or_known_not_to_be():
    known = registered()
    without = {name for text in (NO_RESULT, ONLY_DECLARED, OPEN) for name in text.split()}
    inferred = set(operations())
    assert without & inferred == set()
    assert known - inferred - without == set()
    assert without - known == set()
    assert inferred - known <= set(FROM_ANOTHER_GENERATION.split())


@pytest.mark.oracle
def test_the_wheel_infers_the_same_of_random_operations():
    verdicts = disagreements(operation_cases(seed=1, count=800))
    assert verdicts["equal"] > 600
    assert verdicts["refused"] > 20


@pytest.mark.oracle
def test_the_wheel_infers_the_same_of_random_tensor_maps():
    verdicts = disagreements(tensormap_cases(seed=1, count=300))
    assert verdicts["equal"] > 180
    assert verdicts["refused"] > 30


@pytest.mark.long
@pytest.mark.oracle
def test_the_wheel_infers_the_same_of_many_random_operations():
    verdicts = disagreements([*operation_cases(seed=2, count=10_000), *tensormap_cases(seed=2, count=10_000)])
    assert verdicts["equal"] > 14_000


def test_no_random_operation_ends_in_an_exception():
    outcomes = [ours(case) for case in (*operation_cases(seed=3, count=1_000), *tensormap_cases(seed=3, count=1_000))]
    assert sum(isinstance(outcome, tuple) for outcome in outcomes) > 1_200


MAP = (
    "!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, "
    'tma_gbasis = <"(64,128,1):(1@1,1@0,1@2)">, tma_format = F16_RN>'
)
COORDINATES = '!cute.coord_tensor<"(0,0,0)", "(?,?,?):(77@0,78@1,5@2)">'
LOAD = (
    "!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, "
    'g_stride = <"(1@1,64@0)"> tma_gbasis = <"()">>'
)
SMALL = [
    Case("cute_nvgpu.atom.get_coord_tensor", (LOAD, '!cute.shape<"(?{div=4},64)">'), "", COORDINATES),
    Case("cute.fast_divmod.get_aux", ("!cute.fast_divmod_divisor<64>",), "", "i32, i8, i8"),
    Case(
        "cute_nvgpu.atom.make_tma_residue_tensor",
        (MAP, '!cute.memref<f16, gmem, align<16>, "(?,?{div=4},30):(?{i64},1,?{i64})">'),
        "",
        '!cute.coord_tensor<"(0,0,0)", "(?,?,?):(77@0,78@1,5@2)">',
    ),
    Case(
        "cute_nvgpu.atom.make_tma_residue_tensor",
        (MAP, '!cute.memref<f16, gmem, align<16>, "(?,(8,?),30):(?{i64},(1,?{i64}),?{i64})">'),
        "",
        '!cute.coord_tensor<"(0,0,0)", "(?,(8,?),?):(77@0,(7@1,78@1),5@2)">',
    ),
]


@pytest.mark.oracle
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_wheel_infers_the_same_of(case):
    assert disagreements([case]) in ({"equal": 1}, {"unknown": 1})


FIXED = [
    ("cute.ptr.store", ("f32", "!cute.ptr<f16, smem>"), (), "storable type matches pointer type"),
    ("cute.ptr.store", ("f16", "!cute.ptr<f16, smem>"), (), None),
    ("cute.ptr.load", ("!cute.ptr<f16, smem>",), ("f32",), "storable type matches pointer type"),
    ("cute.ptr.load", ("!cute.ptr<f16, smem>",), ("f16",), None),
    ("cute.kernel_smem_size", (), ("i64",), None),
    ("cute.smem_partition_size", (), ("i64",), None),
    (
        "cute.apply_swizzle",
        ("!cute.ptr<f16, smem, align<128>, S<3,4,3>>",),
        ("!cute.ptr<f16, smem, align<128>, S<3,4,3>>",),
        None,
    ),
    ("cute_nvgpu.arch.get_dyn_smem_size", (), ("i32",), None),
]


@pytest.mark.parametrize(("name", "operands", "declared", "complaint"), FIXED)
def test_an_operation_of_one_result_type(name, operands, declared, complaint):
    outcome = infer(name, operands, (), declared)
    if complaint is None:
        assert isinstance(outcome, tuple)
        assert tuple(map(str, outcome)) == declared
    else:
        assert isinstance(outcome, Refusal)
        assert complaint in outcome.wording


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "operands", "declared", "complaint"), FIXED)
def test_the_wheel_says_the_same_of_an_operation_of_one_result_type(name, operands, declared, complaint):
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    attributes = {
        "cute.kernel_smem_size": "kernel_name = @f",
        "cute.smem_partition_size": "partition_id = 0 : i32",
    }
    case = Case(name, operands, attributes.get(name, ""), ", ".join(declared))
    (answer,) = answers([case])
    assert answer is not None
    assert complaint in answer if complaint else answer == "", answer

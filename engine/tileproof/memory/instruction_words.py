"""What the words of a tensor-core instruction say: its shape, and the fields of its matrix descriptors.

They are decoded by the declarations of rules/descriptor, and given as the facts of the rules on the atoms of the IR.
"""

from __future__ import annotations

from collections.abc import Mapping

from tileproof.evaluate import bitfields
from tileproof.rulebase.bitfield import Word
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Lookup, Number, Scalar


def scaled_shape(
    ruleset: Ruleset, instruction: Mapping[str, Scalar], ctas: int, in_memory: bool, vector: int | None
) -> dict[str, Scalar]:
    """The facts of an MMA with scale factors, for the rules on the atoms of the IR.

    Args:
        instruction: the fields of its instruction descriptor.
        in_memory: whether A is in shared memory.
        vector: how many elements have a scale factor, where the instruction says it.
    """
    names = ("M", "N", "a.type", "b.type", "sparse")
    found = {name: instruction[name] for name in names}
    kind, sparse = instruction["kind"], instruction["sparse"] == ".yes"
    dense, promoted, scaled = ruleset.book.shared_table("umma_scaled_k").rows[str(kind),]
    assert isinstance(dense, int) and isinstance(promoted, int) and isinstance(scaled, int)
    k96 = instruction.get("k96") == ".yes"
    found["K"] = promoted if k96 else dense * (2 if sparse else 1)
    found |= {"ctas": ctas, "d.type": ".f32", "promoted": ".yes" if k96 else ".no"}
    found |= {name: instruction.get(name, ".k") for name in ("a.major", "b.major")}
    scale = instruction["sf.type"]
    found["sf.type"] = ".e4m3" if scale == ".ue4m3" else scale
    if vector is not None or scaled:
        found["vec_size"] = vector if vector is not None else scaled
    found["a.source"] = ".smem_desc" if in_memory else ".tmem"
    return found


def plain_shape(
    ruleset: Ruleset, instruction: Mapping[str, Scalar], ctas: int, in_memory: bool
) -> dict[str, Scalar] | None:
    """The same of an MMA without scale factors; None where its contract does not say K."""
    table = ruleset.book.tables.get(("umma", ruleset.contract))
    if table is None:  # the reference pages have no K of a kind
        return None
    row = table.rows.get((str(instruction.get("a.type")),))
    column = table.column("k")
    if row is None or column is None or not isinstance(row[column], int):
        return None
    names = ("M", "N", "a.type", "b.type", "d.type", "a.major", "b.major", "sparse")
    if any(name not in instruction for name in names):
        return None
    dense = row[column]
    assert isinstance(dense, int)
    found = {name: instruction[name] for name in names}
    found |= {"K": dense * (2 if instruction["sparse"] == ".yes" else 1), "ctas": ctas, "c_scale": 0}
    found["a.source"] = ".smem_desc" if in_memory else ".tmem"
    return found


def known_fields(ruleset: Ruleset, name: str, ones: int, unknown: int) -> dict[str, Scalar]:
    """The fields of a word whose bits are all known.

    Args:
        ones: the bits that are set; ``unknown``: those that may be.

    Raises:
        PackError: one of them has a code without a meaning, or a bit is set that is in no field.
    """
    word: Word = bitfields.word_for(ruleset, name, {})
    code, stray = 0, ones
    certain: set[str] = set()
    for one in word.fields:
        stray &= ~one.mask
        if unknown & one.mask == 0:
            code |= ones & one.mask
            certain.add(one.name)
        else:
            code |= _any_code(ruleset, word, one.name)
    found = bitfields.unpack(ruleset, name, code | stray)
    return {name: value for name, value in found.items() if name in certain}


def judged_fields(ruleset: Ruleset, name: str, ones: int, unknown: int) -> tuple[dict[str, Scalar], str]:
    """The same of a word whose fixed fields may be 0 where kernels leave them so (``unset_field``).

    Returns:
        The fields as though it had them, and what is wrong of it without; empty where nothing is.

    Raises:
        PackError: as ``known_fields``, for another reason.
    """
    try:
        return known_fields(ruleset, name, ones, unknown), ""
    except bitfields.PackError as error:
        if f".{error.unset}" not in ruleset.book.enums["unset_field"].members:
            raise
        word = bitfields.word_for(ruleset, name, {})
        return known_fields(ruleset, name, ones | _any_code(ruleset, word, error.unset), unknown), str(error)


def _any_code(ruleset: Ruleset, word: Word, name: str) -> int:
    """Some code of a field, at its place, for an unknown one."""
    one = next(f for f in word.fields if f.name == name)
    if isinstance(one.value, Lookup):
        table = ruleset.table(one.value.table)
        column = table.column(one.value.column)
        assert column is not None, "checked when the rulebook was loaded"
        cell = next(iter(table.rows.values()))[column]
        return cell << one.low if isinstance(cell, int) else 0
    return one.value.value << one.low if isinstance(one.value, Number) else 0

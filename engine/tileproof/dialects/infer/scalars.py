"""Integers around pointers and layouts: known divisors, addresses as integers, quick division."""

from __future__ import annotations

from tileproof.dialects.infer.call import Call, Results, Unknown, infers, operand
from tileproof.dialects.values import Divisor, Pointer, Scalar, Type, element_bits
from tileproof.layout import LayoutError


def _declared(call: Call) -> Type:
    """The one result that the operation declares; Unknown where it does not."""
    if len(call.declared) != 1:
        raise Unknown
    return call.declared[0]


def _integer(value: Type) -> Scalar | None:
    """A plain integer: one without a known divisor."""
    return value if isinstance(value, Scalar) and not value.assumed else None


@infers("assume")
def assume(call: Call) -> Results:
    """The same integer with a divisor that only the declared result says."""
    source, result = operand(call, 0), _declared(call)
    if not isinstance(result, Scalar) or not isinstance(source, Scalar):
        raise Unknown
    if source.assumed:
        raise LayoutError(f"operand #0 must be integer, but got '{source}'")
    if not result.assumed:
        raise LayoutError(f"result #0 must be  Integer type with constraints. , but got '{result}'")
    if result.width != source.width:
        raise LayoutError(f"expects `dst` type as !cute.i{source.width}, but got !cute.i{result.width}")
    return call.declared


@infers("ptrtoint")
def ptrtoint(call: Call) -> Results:
    """An integer as wide as is declared, whatever the address space."""
    result = _declared(call)
    if isinstance(result, Scalar) and result.assumed:
        raise LayoutError(f"result #0 must be integer, but got '{result}'")
    return call.declared


@infers("inttoptr")
def inttoptr(call: Call) -> Results:
    """A pointer that only the declared result describes; the integer must be known to be as aligned as it says."""
    source, result = operand(call, 0), _declared(call)
    if not isinstance(source, Scalar) or not isinstance(result, Pointer) or element_bits(result.element) is None:
        return call.declared
    if result.alignment % 8:
        raise Unknown  # the native library dies on an element smaller than a byte
    if source.div % (result.alignment // 8):
        raise LayoutError(f"requires source operand to satisfy alignment {result.alignment // 8}, but got {source.div}")
    if result.space == "tmem" and source.width != 32:
        raise LayoutError(f"tmem expects 32bit integer, but got '{source}'")
    return call.declared


# -- division by an invariant


@infers("fast_divmod.create_divisor")
def create_divisor(call: Call) -> Results:
    source = operand(call, 0)
    if not isinstance(source, Scalar):
        raise Unknown
    signless(0, source)
    for result in call.declared:
        if isinstance(result, Divisor) and result.width != source.width:
            widths = f"{source.width} and {result.width} respectively"
            raise LayoutError(f"expects operand and result's width to be the same, got {widths}")
    return (Divisor(source.width),)


@infers("fast_divmod.compute", "fast_divmod.divide")
def divide(call: Call) -> Results:
    """Quotient and remainder, as wide as the divisor, whatever the dividend."""
    dividend, divisor = operand(call, 0), operand(call, 1)
    if not isinstance(dividend, Scalar) or not isinstance(divisor, Divisor):
        raise Unknown
    signless(0, dividend)
    widths = [found.width for value in call.declared if (found := _integer(value)) is not None]
    if call.name.endswith("compute") and len(set(widths)) > 1:
        raise LayoutError("failed to verify that quotient type matches remainder type")
    if widths and widths[0] != divisor.width:
        raise LayoutError(
            f"expects quotient and divisor to be of the same width, got {widths[0]} and {divisor.width} respectively"
        )
    return (Scalar(divisor.width),) * (2 if call.name.endswith("compute") else 1)


@infers("fast_divmod.get_divisor")
def get_divisor(call: Call) -> Results:
    divisor = operand(call, 0)
    if not isinstance(divisor, Divisor):
        raise Unknown
    return (Scalar(divisor.width),)


@infers("fast_divmod.get_aux")
def get_aux(call: Call) -> Results:
    """What replaces the division: a multiplier as wide as the divisor, and two shifts."""
    divisor = operand(call, 0)
    if not isinstance(divisor, Divisor):
        raise Unknown
    return (Scalar(divisor.width), Scalar(8), Scalar(8))


@infers("kernel_smem_size", "smem_partition_size")
def smem_size(call: Call) -> Results:
    return (Scalar(64),)


@infers("arch.get_dyn_smem_size", dialect="cute_nvgpu")
def dynamic_smem_size(call: Call) -> Results:
    return (Scalar(32),)


def signless(index: int, value: Scalar) -> None:
    """Refuse an operand that is not a plain integer of 32 or 64 bits."""
    if value.assumed or value.width not in (32, 64):
        raise LayoutError(
            f"operand #{index} must be 32-bit signless integer or 64-bit signless integer, but got '{value}'"
        )

"""A rule that was renamed is found by the name that it had before: comments and settings of users stay valid."""

from __future__ import annotations

import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.rulebase.load import RuleError, default_files, load

WRONG = (
    '"use"() : () -> !cute_nvgpu.sm90.mma<64x100x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>\n'
)
RULE = """
rule ZZ1 first-name was {former} on wgmma.mma_async {{
  require N != 16
  error "N is 16" source "ptxas 13.5" pass {{ N = 8 }} fail {{ N = 16 }}
}}
"""


def codes(text: str, **chosen: tuple[str, ...]) -> list[str]:
    return [found.code for found in tileproof.check(text, **chosen).diagnostics]


def test_comments_and_options_may_use_a_former_name():
    assert codes(WRONG) == ["WG101"]
    assert codes(f"// tileproof: ignore[wgmma-n] a test\n{WRONG}") == []
    assert codes(WRONG, ignore=("wgmma-n",)) == []
    assert codes(WRONG, select=("wgmma-n",)) == ["WG101"]
    assert codes(WRONG, select=("wgmma-k",)) == []


def test_a_former_name_that_suppresses_nothing_is_reported_as_one_that_is_known():
    report = tileproof.check(f"// tileproof: ignore[wgmma-n] a test\n{WRONG.replace('64x100', '64x96')}")
    assert [found.message for found in report.diagnostics] == ["'wgmma-n' has no effect here"]


def test_no_two_rules_have_one_name_now_or_before():
    with pytest.raises(RuleError, match="'wgmma-n' already names WG101"):
        load((*default_files(), Source("own.rule", RULE.format(former="wgmma-n"))))
    load((*default_files(), Source("own.rule", RULE.format(former="another-name"))))

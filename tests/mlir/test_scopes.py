"""Which operation each name is of, at each operation of a module with regions and blocks."""

from __future__ import annotations

import tileproof
from tileproof.mlir.scopes import Origin, walk

TEXT = """\
test.outer @f(%a: i32, %x: i32) {
  %b = test.first %a : i32
  test.if %b {
    %c = test.inner %b : i32
    test.ask {asked = "in the region"} %c : i32
  } else {
    %c = test.other %b : i32
    test.ask {asked = "in its sibling"} %c : i32
  }
  test.ask {asked = "after the regions"} %b : i32
  cf.br ^second(%b : i32)
^second(%x: i32):
  %d = test.second %b : i32
  test.ask {asked = "in the second block"} %d : i32
  cf.br ^third
^third:
  test.ask {asked = "in the third block"} %d : i32
}
test.ask {asked = "outside"} : ()
"""


def test_names_live_to_the_end_of_their_region():
    seen = {}
    module = tileproof.parse(TEXT).module
    (kernel, _) = module.operations
    for operation, scope in walk(module.operations):
        asked = operation.attribute("asked")
        if asked is not None:
            seen[asked.text.strip('"')] = {
                name: "argument" if origin.argument else origin.operation.name for name, origin in scope.items()
            }
    first = {"%a": "argument", "%x": "argument", "%b": "test.first"}
    later = {"%a": "argument", "%b": "test.first", "%d": "test.second"}  # another %x hides that of the kernel
    assert seen == {
        "in the region": {**first, "%c": "test.inner"},
        "in its sibling": {**first, "%c": "test.other"},
        "after the regions": first,
        "in the second block": later,
        "in the third block": later,
        "outside": {},
    }
    start = next(scope["%a"] for operation, scope in walk((kernel,)) if operation.name == "test.first")
    assert start == Origin(kernel, 0, argument=True)

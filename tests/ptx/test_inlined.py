"""Of inlined code each place leads to the call that it came from, though others stand at the same line."""

from tileproof.ptx.inlined import Calls, Place


def calls(*places: tuple[int, int, int, str, tuple[int, int, int] | None]) -> list[Place]:
    found = Calls([])
    for place in places:
        found.add(*place)
    return found.places


def test_one_line_of_a_library_inlined_twice_has_two_callers():
    found = calls(
        (1, 20, 5, "", None),
        (2, 7, 3, "store", (1, 20, 5)),
        (2, 70, 9, "commit", (2, 7, 3)),
        (1, 30, 5, "", None),
        (2, 7, 3, "store", (1, 30, 5)),
        (2, 70, 9, "commit", (2, 7, 3)),
    )
    assert [one.caller for one in found] == [-1, 0, 1, -1, 3, 4]


def test_what_is_scheduled_among_others_keeps_the_function_it_was_inlined_in():
    """``store`` for two types is two functions, and so is what each calls."""
    found = calls(
        (2, 7, 3, "store<half>", (1, 20, 5)),
        (2, 70, 9, "commit<half>", (2, 7, 3)),
        (2, 7, 3, "store<float>", (1, 30, 5)),
        (2, 70, 9, "commit<float>", (2, 7, 3)),
        (2, 71, 9, "commit<half>", (2, 7, 3)),
    )
    assert [one.caller for one in found] == [-1, 0, -1, 2, 0]


def test_what_two_functions_inline_alike_belongs_to_the_one_that_was_just_named():
    found = calls(
        (2, 7, 3, "store<half>", (1, 20, 5)),
        (3, 70, 9, "commit", (2, 7, 3)),
        (2, 7, 3, "store<float>", (1, 30, 5)),
        (3, 70, 9, "commit", (2, 7, 3)),
        (3, 71, 9, "commit", (2, 7, 3)),
    )
    assert [one.caller for one in found] == [-1, 0, -1, 2, 2]


def test_a_call_that_no_directive_names_is_not_known():
    (found,) = calls((2, 7, 3, "store", (1, 20, 5)))
    assert found.caller == -1

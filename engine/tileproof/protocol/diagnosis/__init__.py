"""Why a kernel is at fault: the smallest change of it after which nothing is wrong any more.

A finding of the machine names the effect: threads wait for ever, two accesses have no order. What to change is found by
trying. ``suspects``, ``missing_arrivals`` and ``missing_order`` propose changes of single operations: another count,
another barrier, the other parity, an operation less, an operation more. ``changes`` makes the program that has such a
change, ``search`` runs it. A change after which the findings are gone, and no other came, is the cause; what it repairs
is one finding, at the operation to change (``report``), in the words of ``names``.
"""

from tileproof.protocol.diagnosis.changes import SUPPLIED, supplied
from tileproof.protocol.diagnosis.search import Ended, Rerun, Search, diagnosed, misplaced

__all__ = ["SUPPLIED", "Ended", "Rerun", "Search", "diagnosed", "misplaced", "supplied"]

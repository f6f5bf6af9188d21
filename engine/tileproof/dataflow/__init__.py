"""Checks of PTX along every path of one thread: what needs no address, no other thread and no barrier to be judged.

A group of asynchronous instructions is issued, committed and waited for by one thread, in the order of its program. A
state that says which of them may still be in flight is moved along the control-flow graph until it no longer grows
(``flow``). An error is reported where a path leads to it (``wgmma``), or where every path does (``groups``): branches
of a kernel are correlated. An instruction that has a guard is taken to be executed. Device functions are not judged by
themselves, and a call of one that does anything asynchronous is taken to complete all that is in flight.
"""

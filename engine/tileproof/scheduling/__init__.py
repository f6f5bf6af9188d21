"""``tileproof schedule``: inserts the fences, commits and waits that a kernel lacks, where the verifier asks for them.

The verifier (``tileproof.protocol``) is the only judge. It is asked for errors, and for those warnings that rule data
repair; other warnings are practice of published kernels, and a schedule may keep them. What a finding asks for is
inserted directly after the operation that it is about (a register fence: directly before), in its strongest form; that
is always enough where an insertion helps at all. Then the schedule is relaxed, each step only if the verifier finds
nothing new: operations are hoisted out of loops without synchronization, neighbours are merged, waits are removed,
leave more groups in flight, and are moved down. So the result is a local optimum, and it is deterministic; for a
small kernel Z3 shows that no cheaper schedule exists. Last, waits are placed anew, before what synchronizes, where that
keeps groups longer in flight (``overlap``).

Which operation repairs which finding, and how it is written, is data: rules/protocol/schedule.rule. ``edits`` has the
insertion points of a text and the text with insertions; ``synthesis`` searches; ``graph`` shows the resulting order.
"""

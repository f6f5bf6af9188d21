"""``tileproof schedule``: the fences, commits and waits that a kernel lacks, put in where the verifier asks for them.

The verifier (``tileproof.protocol``) is the only judge. It is asked for errors, and for those warnings that rule data
repair: what else it warns of is practice of kernels in the field, and a schedule may do so as well. What it misses is
put right behind (a fence of registers: right before) the operation that the finding is about, in its strongest form;
that is always enough where operations of these kinds are at all. Then everything is taken back that can be: operations
leave the loops that nobody synchronises in, neighbours become one, waits go, leave more groups in flight, and move
down, each step only if the verifier finds nothing new. So the result is a local optimum, and it is deterministic; of a
small kernel Z3 shows that none is cheaper.

Which operation repairs which finding, and how it is written, is data: rules/protocol/schedule.rule. ``edits`` are the
places in the text and the text with insertions; ``search`` looks for them; ``graph`` shows the order that results.
"""

"""``tileproof schedule``: inserts the fences, commits and waits that a kernel lacks, where the verifier asks for them.

The verifier (``tileproof.protocol``) is the only judge. It is asked for errors, and for those warnings that rule data
repair; other warnings are practice of published kernels, and a schedule may keep them. What a finding asks for is
inserted directly after the operation that it is about (a register fence: directly before), in its strongest form; that
is always enough where an insertion helps at all. If an error is left then, the text stays as it is. Else the best
schedule is sought: ``order`` says which of two is better, and how the best one is found.

Which operation repairs which finding, and how it is written, is data: rules/protocol/schedule.rule. ``edits`` has the
insertion points of a text and the text with insertions, ``plan`` what is inserted; ``trials`` runs plans on the
machine, ``needs`` records what each wait is for, ``placing`` chooses waits by that, ``synthesis`` puts it together;
``graph`` shows the resulting order.
"""

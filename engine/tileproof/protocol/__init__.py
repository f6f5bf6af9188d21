"""The asynchronous protocol of a kernel, verified by running it on an abstract machine.

What keeps a tensor-core kernel correct shows in no type: a fence between two proxies, a wait that leaves few enough
groups in flight, a barrier that expects as many bytes as the copies deliver. Each is a claim about *order*: this read
happens after that write. So a kernel is run with symbolic values: known are those that decide control flow and
addresses (thread indices, loop counters, stages, phases), all data are unknown. At each access to shared memory, tensor
memory or the registers of an MMA the machine asks whether every conflicting access is ordered before it; where one is
not, that is a RAW, WAR or WAW hazard.

*Order* is a vector clock (``vector_clock``). A warp knows of another warp what a barrier passed on; of an asynchronous
operation it knows nothing until it waits for it, however much time passes. So what is found does not depend on the one
interleaving that is run: an order that no synchronization establishes is missing in all of them.

*Proxies.* The tensor core and TMA see what a thread writes to shared memory only after a proxy fence. A clock has a
second half for that: up to which moment the writes of a warp are fenced.

*Thread sets* (``warps``) are threads of one CTA at one place of the program. A condition that differs between threads
splits a thread set; where its parts reconverge they become one again. So a CTA of 512 threads is five or six thread
sets, one for each role. All CTAs of a cluster run, each with its thread sets.

*Access sets* (``access_sets``). Where a tile is partitioned over threads, each warp touches bytes of its own: threads
race only where one touches bytes that another warp wrote or reads. Where a partition is not known, no race is reported.

*Bounds.* What the stages and phases of a ring do depends only on the iteration modulo twice the depth of the ring: a
loop of unknown length runs that many iterations and a few more, the loop over tiles three. Extents that the kernel gets
as arguments all have that value, so that roles that compute the length of one loop in different ways agree on it. A
``try_wait`` that does not block always fails. A kernel that deadlocks where loops were left before their end, or that
skips a loop, is run again with other extents: a run without findings that goes further clears it; where there is none,
the deadlock is a note and no error. A ring in a long loop orders more than its author may know of, so a kernel without
findings runs once more, with short loops and more tiles: a hazard that exists only there is a warning.

*Shared-memory mailboxes.* Integers that threads write to shared memory are kept: so roles pass on whether there is
another tile. Inline assembly is read instruction by instruction (``actions/assembly``), by a table of rules/protocol.

Where the machine cannot follow a kernel it says so (PR190), and reports nothing that depends on it.

Modules, from low to high: ``values``, ``access_sets`` and ``folding`` compute integers and addresses; ``steps`` reads
which operation is which step from rules/protocol; ``tree_builder`` turns a kernel into a ``tree``, ``tmem_liveness``
finds in it where loads of tensor memory complete, and ``program`` lays it out as a list of instructions without what
does not matter; ``memory``, ``vector_clock``, ``warps`` and ``state`` are the state; ``machine`` runs; ``actions`` says
what each step does; ``trace`` keeps the path to a finding; ``verify`` verifies all kernels of a module.
"""

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

*Suppositions.* What the text does not decide a run supposes: arguments, extents, loaded integers. Extents that the
kernel gets all have one value in a run, the number of tiles, so that roles that compute the length of one loop in
different ways agree on it; further runs suppose other values, or take single branches the other way (``explore``), and
short loops are run one by one until the state of a long one comes again (``fixpoint``). ARCHITECTURE.md has the
argument. A ``try_wait`` that does not block always fails. A ring in a long loop orders more than its author may know
of: a hazard that exists only where loops are short is a warning.

*Shared-memory mailboxes.* Integers that threads write to shared memory are kept: so roles pass on whether there is
another tile. Inline assembly is read instruction by instruction (``assembly``), by a table of rules/protocol.

Where the machine cannot follow an operation it says so (PR190), and reports nothing that depends on it.

Modules, from low to high: ``values``, ``access_sets`` and ``folding`` compute integers and addresses; ``steps`` reads
which operation is which step from rules/protocol; ``tree_builder`` turns a kernel into a ``tree``, ``tmem_liveness``
(in PTX ``ptx_tensor_loads``) finds where loads of tensor memory complete, and ``program`` lays it out as a list of
instructions without what does not matter (``control_flow`` and ``structuring`` make branches and loops of blocks
first); ``memory``, ``vector_clock``, ``warps`` and ``state`` are the state; ``machine`` runs; ``actions`` says what
each step does, ``endings`` what is wrong when a run has ended; ``trace`` keeps the path to a finding; ``launch`` reads
how a kernel is launched; ``explore``, ``fixpoint`` and ``budget`` say which runs of a kernel there are, ``study`` makes
them, ``runs`` says what one shows, ``hangs``, ``lengths`` and ``seldom`` what is compared between several, ``judging``
what all say together, and ``verify`` goes through the kernels of a module and their launches.
"""

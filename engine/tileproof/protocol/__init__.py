"""The asynchronous protocol of a kernel, verified by running it on an abstract machine.

Tensor-core kernels are held together by things that no type shows: a fence between two proxies, a wait that is deep
enough, a barrier that counts as many bytes as the copies bring. Each of them is a claim about *order*: this read comes
after that write. So a kernel is run with all values forgotten but those that decide where it goes (thread indices,
loop counters, stages, phases), and at each access to shared memory, tensor memory or the registers of an MMA the
machine asks whether the accesses that conflict with it are ordered before it.

*Order* is a vector clock (``clock.py``). A warp knows of another one what it was told by a barrier; of an asynchronous
operation it knows nothing until it waits for it, whatever the time that went by. So what is found does not depend on
the one interleaving that is run: an order that nobody established is missing in all of them.

*Proxies.* What a thread writes into shared memory is seen by the tensor core and by TMA only after a proxy fence. A
clock has a second half for that: up to which moment the writes of a warp are fenced.

*Threads* run as thread sets: sets of threads that are at one place (``thread_set.py``). A condition that differs between
threads splits a thread set; where its parts meet again they are one. So a CTA of 512 threads is five or six thread sets, each
one role. All CTAs of a cluster run, each with its thread sets.

*Footprints.* Where threads share a tile out among themselves, each warp touches bytes of its own (``access_set.py``):
threads race only where one touches what another warp wrote or reads. Where a part is not known, nothing is said of it.

*Bounds.* What the stages and phases of a ring do depends on the count of the iteration modulo twice the depth of the
ring, and on nothing else: the machine gives a loop of unknown length that many iterations and a few more, and the loop
over tiles three. Extents that the kernel gets as arguments all count as that number, so that roles which compute the
length of one loop in different ways agree on it. A look at a barrier that does not wait always comes too early. A
kernel that hangs where loops were left before their end, or that passes a loop by, is run again with other extents: a
run without faults that goes further clears it, and where nothing does, the hang is a note and no error. A ring that
goes round in a long loop orders more than the kernel's author may know of, so a kernel without faults runs once more,
with short loops and more tiles: what is missing only there is a warning.

*Letters.* Integers that threads put into shared memory are kept, for roles tell each other so whether there is another
tile. Inline assembly is read instruction by instruction (``actions/assembly.py``), by a table of rules/protocol.

What cannot be followed is named (PR190), and nothing that depends on it is reported.

Modules, from low to high: ``values``, ``access_set`` and ``folding`` compute integers and addresses; ``effects`` reads
which operation is which step from rules/protocol; ``building`` turns a kernel into a ``tree``, ``consumers`` finds in
it where loads of tensor memory are over, and ``program`` lays it out as a list of instructions without what does not
matter; ``memory``, ``clock`` and ``thread_set`` are the state; ``machine`` runs; ``actions`` holds what each step does;
``verify`` asks for all kernels of a module.
"""

"""The facts of operations that use atoms: ``cute.gemm``, ``cute.copy``, tiled atoms, operations of ``nvvm``."""

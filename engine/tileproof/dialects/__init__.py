"""What types and operations of ``cute``, ``cute_nvgpu`` and ``nvvm`` mean, and which result types follow."""

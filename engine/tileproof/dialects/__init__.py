"""What the entities of the ``cute``, ``cute_nvgpu`` and ``nvvm`` dialects mean."""

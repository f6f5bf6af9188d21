"""The language server: findings, pages and edits where the author types. Only ``serving`` knows the protocol's library.

Texts are read and judged in processes of their own (``process``, ``worker``), so that the server answers while a check
runs, a check that is no longer wanted can be ended, and one that dies takes nothing with it. What crosses between them
are the records of ``replies``; places are offsets there, and become lines and code units in ``texts``.
"""

"""PTX: from the text of an instruction or a module to the facts that rules judge, and back.

``text`` cuts an instruction into opcode and operands, ``opcode`` gives the facts of an opcode as the ``instruction``
declarations of the rules say, ``parse_facts`` adds those of the operands, ``module`` finds the instructions of a
file with what is declared around them, and ``spell`` writes an instruction from facts. They do not judge what is legal.
"""

"""Where an operand is: pointers, known bits of addresses, tensor maps, and the descriptors made of them."""

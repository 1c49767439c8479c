"""How fast training is, compared with the procedure of Lab 13 and with the machine's limits."""

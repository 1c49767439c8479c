"""How fast training is: beside the lab's procedure, and beside what the machine can do."""

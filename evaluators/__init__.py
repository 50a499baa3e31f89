"""One claim about a finished trial per module, and the statistics over many: pure functions."""

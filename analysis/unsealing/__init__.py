"""Sealed reports, opened by the analyst: keys, batches, and the file that tallies go to."""

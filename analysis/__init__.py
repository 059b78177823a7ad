"""The analyst: from tallies to estimates with their errors."""

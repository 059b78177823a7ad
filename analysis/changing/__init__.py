"""Answers that change, with one epsilon for all periods: what is estimated for each."""

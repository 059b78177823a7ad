"""Answers that change under one epsilon: from the tallies of all periods to each of them."""

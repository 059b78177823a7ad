"""The same question under three models of trust: local, shuffled, central."""

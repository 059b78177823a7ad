"""The subcommands of ``deniable``, one module each; each wraps one function of the analysis."""

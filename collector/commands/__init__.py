"""The subcommands of ``deniable-collector``, one module each, loaded when they are called."""

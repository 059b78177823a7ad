"""Whether an installed client keeps its promise: devices are made, asked and compared."""

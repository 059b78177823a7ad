"""Devices on order: what an audit of the installed client runs, and no app ever loads."""

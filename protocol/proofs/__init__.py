"""What a mechanism's code does, found by running it: for proofs and audits, never on a device."""

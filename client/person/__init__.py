"""What `deniable-device` tells the person whose device it is; no app ever loads it."""

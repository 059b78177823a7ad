"""What a crowd adds to the noise: bounds for reports that arrive shuffled."""

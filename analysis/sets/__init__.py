"""Several answers at once: how many have each, and how many they have."""

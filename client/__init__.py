"""The device: answers are randomized here, before they leave."""

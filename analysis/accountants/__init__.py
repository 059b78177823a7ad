"""What many reports reveal together: one module for each way to add losses up."""

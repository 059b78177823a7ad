"""What T reports of one device reveal, for each thing one may want to protect."""

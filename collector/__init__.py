"""The service: takes reports in and keeps only counts."""

"""Inverse questions: which epsilon, which margin, before anybody is asked."""

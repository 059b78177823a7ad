"""Texts with an open domain: estimates of those named afterwards, and the discovery of frequent ones."""

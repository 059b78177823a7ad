"""Texts with an open domain: estimates of named ones, and discovery of frequent ones."""

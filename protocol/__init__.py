"""What device, collector and analyst agree on: surveys, periods, mechanisms, documents, errors.

Standard library only. Nothing here reads a clock, opens a socket or keeps state; the other
three parts import this one and never each other.
"""

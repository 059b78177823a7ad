"""How it is told whether an aim was reached."""


def verdict(reached: bool, found: str, aim: str) -> str:
    """Return a line that tells it."""
    return f"{'reached' if reached else 'MISSED '}  {found} (aim: {aim})"

"""A desktop app (Tk) that asks with a dialog, and never makes its window wait.

::

    python tk_app.py
"""

from __future__ import annotations

import json
import os
import tkinter
from pathlib import Path
from tkinter import messagebox

from deniable.client import Client

SURVEY = Path(__file__).with_name("survey.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.acme.example")


def question(telemetry: Client) -> str:
    """Return what the dialog asks, with a report such as would be sent."""
    preview = telemetry.preview("dark_mode", True)
    example = json.dumps(preview.request, indent=2) if preview else ""
    return (
        "May Notes report whether you use the dark theme? Each report is randomized first, so "
        "that nobody can tell which theme you use. With the dark theme, one could be:\n\n"
        f"{example}\n\nYou can change this under Help, Privacy."
    )


class Notes(tkinter.Tk):
    """A window with a theme to choose."""

    def __init__(self, telemetry: Client) -> None:
        super().__init__()
        self.title("Notes")
        self._telemetry = telemetry
        self.dark = tkinter.BooleanVar(self, value=False)
        self.theme = tkinter.Checkbutton(
            self, text="Dark theme", variable=self.dark, command=self.paint
        )
        self.theme.pack()
        menu = tkinter.Menu(self)
        assistance = tkinter.Menu(menu)
        assistance.add_command(label="Privacy…", command=self.ask)
        menu.add_cascade(label="Help", menu=assistance)
        self.configure(menu=menu)
        if telemetry.status().state == "local":  # nobody has said yes or no
            self.after_idle(self.ask)

    def paint(self) -> None:
        """Show the theme."""
        dark = self.dark.get()
        self.configure(background="black" if dark else "white")
        self._telemetry.record("dark_mode", dark, wait=False)

    def ask(self) -> None:
        """Ask, and store the answer; closing the dialog is no answer."""
        yes = messagebox.askyesnocancel("Privacy", question(self._telemetry), parent=self)
        if yes is not None:
            self.decide(yes)

    def decide(self, yes: bool) -> None:
        """Store what the person decided."""
        if not (self._telemetry.opt_in() if yes else self._telemetry.opt_out()):
            messagebox.showwarning("Privacy", "Your decision could not be stored.", parent=self)


def main() -> None:
    with Client(SURVEY, COLLECTOR) as telemetry:
        Notes(telemetry).mainloop()


if __name__ == "__main__":
    main()

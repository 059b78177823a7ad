"""A site that people host themselves, with Flask, and its administrator's decision.

The device is the installation: what it reports is about the site, never about a visitor.

::

    flask --app flask_app run
    gunicorn --preload --workers 2 "flask_app:create_app()"

The client may be made before workers are forked: each then has a connection and threads of its
own, on the one store, and one of them at a time sends.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from flask import Flask, Response, abort, redirect, render_template_string, request, session

from deniable.client import Client

SURVEY = Path(__file__).with_name("survey.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.acme.example")
FORMATS = ("html", "markdown", "pdf")

PRIVACY = """
<!doctype html><title>Privacy</title>
<p>Reports: {{ status.state }}{% if status.decided_on %}, decided on {{ status.decided_on }}
{% endif %}. {{ status.reason }}</p>
<p>May this site report which formats its notes are exported to? Each report is randomized first,
so that nobody can tell what was done here.
{% if example %}If it was PDF, one could be this:
<pre>{{ example.request | tojson(indent=2) }}</pre>{% endif %}</p>
<form method="post">
<input type="hidden" name="token" value="{{ token }}">
<button name="answer" value="yes">Yes</button> <button name="answer" value="no">No</button>
</form>
"""


def create_app(telemetry: Client | None = None) -> Flask:
    """Make the app, with one client for the process and those it forks."""
    app = Flask(__name__)
    app.secret_key = os.environ.get("NOTES_SECRET") or secrets.token_bytes(32)
    app.config["SESSION_COOKIE_SAMESITE"] = "Lax"
    client = telemetry or Client(SURVEY, COLLECTOR)

    @app.get("/export/<name>")
    def export(name: str) -> Response:
        if name not in FORMATS:
            abort(404)
        client.record("export", name, wait=False)
        return Response("exported", mimetype="text/plain")

    @app.get("/privacy")  # behind the administrator's login, as everything under it
    def privacy() -> str:
        token = session.setdefault("token", secrets.token_urlsafe())
        example = client.preview("export", "pdf")
        return render_template_string(PRIVACY, status=client.status(), example=example, token=token)

    @app.post("/privacy")
    def decide() -> Response:
        given, wanted = request.form.get("token", ""), session.get("token", "?")
        if not secrets.compare_digest(given.encode(), wanted.encode()):
            abort(403)
        yes = request.form.get("answer") == "yes"
        if not (client.opt_in() if yes else client.opt_out()):
            abort(503, "the decision could not be stored")
        return redirect("/privacy", code=303)

    return app

"""A site that people host themselves, with Django, and its administrator's decision.

The device is the installation: what it reports is about the site, never about a visitor.

::

    python django_app.py runserver
    gunicorn --preload --workers 2 django_app:application
"""

from __future__ import annotations

import os
import secrets
import sys
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template import engines
from django.urls import path
from django.views.decorators.http import require_GET, require_http_methods

from deniable.client import Client

SURVEY = Path(__file__).with_name("survey.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.acme.example")
FORMATS = ("html", "markdown", "pdf")

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    MIDDLEWARE=[
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.environ.get("NOTES_SECRET") or secrets.token_urlsafe(32),
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)

PRIVACY = """
<!doctype html><title>Privacy</title>
<p>Reports: {{ status.state }}{% if status.decided_on %}, decided on {{ status.decided_on }}
{% endif %}. {{ status.reason }}</p>
<p>May this site report which formats its notes are exported to? Each report is randomized first,
so that nobody can tell what was done here.</p>
<form method="post">{% csrf_token %}
<button name="answer" value="yes">Yes</button> <button name="answer" value="no">No</button>
</form>
"""


@cache
def telemetry() -> Client:
    """Return the one client of the process and those it forks."""
    return Client(SURVEY, COLLECTOR)


@require_GET
def export(request: HttpRequest, name: str) -> HttpResponse:
    if name not in FORMATS:
        raise Http404
    telemetry().record("export", name, wait=False)
    return HttpResponse("exported", content_type="text/plain")


@require_http_methods(["GET", "POST"])
def privacy(request: HttpRequest) -> HttpResponse:
    """Show what is shared, and take the decision; behind the administrator's login."""
    client = telemetry()
    if request.method == "POST":
        yes = request.POST.get("answer") == "yes"
        if not (client.opt_in() if yes else client.opt_out()):
            return HttpResponse("the decision could not be stored", status=503)
        return HttpResponseRedirect("/privacy")
    page = engines["django"].from_string(PRIVACY)
    return HttpResponse(page.render({"status": client.status()}, request))


urlpatterns = [path("export/<name>", export), path("privacy", privacy)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
else:
    application = get_wsgi_application()
    telemetry()  # before workers are forked, so that they share it

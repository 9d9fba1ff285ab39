"""The service for any ASGI server: ``granian --interface asgi jeton.service.asgi:app``.

The settings stand in the TOML file that ``$JETON_SERVICE_CONFIG`` names.
"""

from __future__ import annotations

import os

from jeton.errors import UsageError
from jeton.service.application import create_app
from jeton.service.settings import read_service_fields, settings_from

VARIABLE = "JETON_SERVICE_CONFIG"


def app_of_environment() -> object:
    """Return the application of the settings that the environment names.

    Raises:
        UsageError: It names none.
    """
    file = os.environ.get(VARIABLE)
    if not file:
        raise UsageError(f"${VARIABLE} is not set\nhint: the path of a TOML file of settings")
    return create_app(settings_from(read_service_fields(file)))


def __getattr__(name: str) -> object:
    if name == "app":
        return app_of_environment()
    raise AttributeError(name)

"""Which host belongs to which settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calve.spark.host.folder import HostFolder, HostLaunch

if TYPE_CHECKING:
    from calve.settings import Settings


def prepare_host(settings: Settings) -> HostFolder:
    """The folder of the host for these settings, with all that a step needs to start it."""
    from calve.spark.session import session_conf

    java_home = settings.spark.java_home
    launch = HostLaunch(
        home=str(settings.ensure_home()),
        java_home=None if java_home is None else str(java_home),
        conf=session_conf(settings),
        idle_timeout_s=settings.spark.idle_timeout.total_seconds(),
    )
    folder = HostFolder.of(settings.home, launch)
    folder.prepare(launch)
    return folder

"""All pages there are, one line each. More particular paths come first."""

from __future__ import annotations

from collections.abc import Sequence

from calve.ui.pages import Pages
from calve.ui.views import api
from calve.ui.views.backfills import listing as backfills
from calve.ui.views.backfills import page as backfill
from calve.ui.views.captures import page as capture
from calve.ui.views.definitions import page as definition
from calve.ui.views.home import page as home
from calve.ui.views.lineage import page as lineage
from calve.ui.views.runs import actions as run_actions
from calve.ui.views.runs import listing as runs
from calve.ui.views.runs import page as run
from calve.ui.views.settings import page as settings
from calve.ui.views.signals import page as signals
from calve.ui.views.starting import page as start
from calve.ui.views.steps import page as step
from calve.ui.views.tables import listing as tables
from calve.ui.views.tables import page as table
from calve.ui.views.workflows import actions as workflow_actions
from calve.ui.views.workflows import listing as workflows
from calve.ui.views.workflows import page as workflow

PAGES: Sequence[Pages] = (
    home.pages,
    workflows.pages, workflow.pages, workflow_actions.pages, definition.pages, start.pages,
    signals.pages, settings.pages,
    api.pages,
    backfills.pages,
    backfill.pages,
    runs.pages, run.pages, run_actions.pages, step.pages,
    tables.pages, table.pages, capture.pages, lineage.pages,
)  # fmt: skip

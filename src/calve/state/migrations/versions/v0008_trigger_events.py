"""What triggers noted, found without a look at all other events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Order the few events of triggers by their numbers."""
    told = sa.text("kind = 'trigger'")
    op.create_index("ix_events_trigger", "events", ["id"], sqlite_where=told, postgresql_where=told)

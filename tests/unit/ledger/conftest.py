"""A ledger on each kind of state database."""

from support.ledger_fixtures import ledger, state_url, table

__all__ = ["ledger", "state_url", "table"]

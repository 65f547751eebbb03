"""Programs that help to make Calve; they are not part of it."""

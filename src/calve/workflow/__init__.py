"""Workflows: their language, and what it means. Pure: it reads no file, no clock, no database."""

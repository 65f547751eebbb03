"""What the orchestrator knows of: workflows with versions and properties, templates, limits, breakpoints."""

"""Step types: what a job of a workflow does. One contract (`contract.py`), one file a type."""

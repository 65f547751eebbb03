"""The read side: rows of the state as the JSON that programs and people see. Nothing here writes."""

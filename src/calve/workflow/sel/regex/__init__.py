"""Regular expressions as Java has them, matched by a machine whose every step is metered.

A pattern comes from an expression, so it may be one that takes for ever; the matcher of the standard
library cannot be stopped, this one can.
"""

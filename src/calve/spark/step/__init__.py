"""What runs in the process of a Spark step: `python -m calve.spark.step SPEC`."""

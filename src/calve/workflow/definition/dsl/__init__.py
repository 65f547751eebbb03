"""The YAML language: from what a person writes to the form that the model has."""

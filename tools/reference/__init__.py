"""The reference pages of the documentation, made from the code: `make docs`."""

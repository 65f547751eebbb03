"""Where things stand on a picture. Pure: numbers in, numbers out; templates draw them."""

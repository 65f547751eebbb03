"""Real servers and sessions that the tests run against."""

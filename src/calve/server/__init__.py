"""The server: REST on Maestro's paths, events, logs. It holds no state of its own."""

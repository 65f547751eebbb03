"""The web pages: rendered on the server, live by server-sent events, readable without JavaScript."""

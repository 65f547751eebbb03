"""`calve demo`: the playback pipeline by lookback and by change, on the same data, side by side."""

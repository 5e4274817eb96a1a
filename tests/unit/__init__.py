"""Pure rules and small parts: no server, no store, no fixture beyond a temporary folder."""

"""Laws that hold for whatever Hypothesis thinks of: merges, codecs, the store as a state machine."""

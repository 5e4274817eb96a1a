"""What the engine needs of the outside: a store, a clock, and languages for conditions and schemas."""

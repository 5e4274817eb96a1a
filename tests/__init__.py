"""The tests, by what they need: nothing, a store, a server, a crew, a fault."""

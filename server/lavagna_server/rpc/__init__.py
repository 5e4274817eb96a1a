"""The wire: servicers that identify, check, call the engine and translate."""

"""What the engine needs from the world: the contracts that adapters fulfil."""

"""The wire contract, compiled from `protos/lavagna/v1`."""

"""The blackboard server."""

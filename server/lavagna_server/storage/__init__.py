"""The stores that carry out plans: on disk and in memory."""

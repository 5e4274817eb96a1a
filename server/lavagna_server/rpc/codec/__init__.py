"""Between the wire and the domain: one module per idea, `from_wire` checks and reads, `to_wire` writes.

Whatever is malformed is refused here, as `Invalid` with the field's path in the request; nothing behind sees it.
"""

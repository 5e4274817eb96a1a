"""What to do next about an error, by its reason."""

from lavagna import errors

_BY_REASON = {
    "VERSION_REQUIRED": "Here that is --expect VERSION or --overwrite.",
    "COMPACTED": "That history was given up; ask for a later revision.",
    "FUTURE_REVISION": "Ask for a revision that exists, or leave it out for the newest.",
    "EPOCH_CHANGED": "The board was restored from a backup; start anew, without the old token.",
    "FILTER_MISMATCH": "Resume with the patterns that the token was given for.",
    "ROLE_REQUIRED": "See what you may do with `lavagna agents whoami`.",
    "NOT_A_WRITER": "See who may write with `lavagna regions list`.",
    "NOT_VOTED": "That is `lavagna put`; see the rules with `lavagna regions list`.",
    "NOT_MERGED": "See where claims are merged with `lavagna regions list`.",
    "QUORUM_IMPOSSIBLE": "See who votes there with `lavagna regions get`.",
    "NOT_A_VOTER": "See who may vote with `lavagna proposals get`.",
    "CONTENT_MISMATCH": "See what is voted on with `lavagna proposals get`, then decide.",
    "POLL_CLOSED": "See who decided with `lavagna explain`.",
    "UNAVAILABLE": "Name another server with --target or LAVAGNA_TARGET.",
}


def for_error(error: errors.LavagnaError) -> str:
    """What to do next; empty when the error says all there is to say."""
    if isinstance(error, errors.AlreadyExists):
        return "Choose another name."
    if isinstance(error, errors.Conflict):
        return _after_a_conflict(error)
    if isinstance(error, errors.Exhausted) and error.retry_after:
        return f"Try again in {error.retry_after:g} s."
    return _BY_REASON.get(error.reason, "")


def _after_a_conflict(conflict: errors.Conflict) -> str:
    if conflict.current is None:
        return "Look again, then decide."
    return f"Decide again with that in mind, then pass --expect {conflict.current.version}."

"""Who decides in a region and how claims are merged, in the words of the options that say it."""

from datetime import timedelta

from lavagna import Electorate, Merging, Policy, Region, Voters
from lavagna_cli import contents, values
from lavagna_cli.durations import spelt
from lavagna_cli.regionspecs import FIELD, TYPES, VETO

_USUAL = {
    "number": "median",
    "category": "weighted-plurality",
    "collection": "threshold",
    "record": "fields",
    "text": "select",
}
"""The rules where nothing else was said; a server names these too."""
_HALF = 0.5
"""Up to here a share must be exceeded."""


def shortly(region: Region) -> str:
    """How the region decides or merges, in a few words; empty where each write stands."""
    match region:
        case Region(policy=Policy.OWNER, owner=owner):
            return f"{owner} decides"
        case Region(policy=Policy.QUORUM, electorate=Electorate() as electorate):
            return f"{_needed(electorate)} of {_names(electorate)}"
        case Region(policy=Policy.WEIGHTED):
            rules = _rules_of(region.merging or Merging())
            return " ".join(rules) or "usual rules"
        case _:
            return ""


def properties(region: Region) -> dict[str, str]:
    """How the region decides or merges, in full."""
    electorate, merging = region.electorate, region.merging
    shown: dict[str, str] = {}
    if region.policy is Policy.QUORUM and electorate is not None:
        deadline = electorate.deadline_seconds
        shown |= {
            "voters": _names(electorate),
            "needed": _needed(electorate),
            "deadline": "" if deadline is None else spelt(timedelta(seconds=deadline)),
            "groups": f"at least {electorate.groups_min}" if electorate.groups_min > 1 else "",
            "group cap": contents.share(electorate.group_cap or None),
        }
    if region.policy is Policy.WEIGHTED:
        merging = merging or Merging()
        shown |= {
            "merging": ", ".join(_rules_of(merging)) or "the usual rules",
            "threshold": contents.share(merging.threshold),
            "group cap": contents.share(merging.group_cap or None),
            "reconcilers": values.printable(", ".join(merging.reconcilers)),
        }
    return shown


def _names(electorate: Electorate) -> str:
    return values.printable(", ".join(map(_named, electorate.voters))) or "nobody"


def _named(voters: str | Voters) -> str:
    """The voters as `--voter` takes them."""
    if isinstance(voters, str):
        return voters
    weight = "" if voters.weight == 1 else f":{contents.share(voters.weight)}"
    return f"{voters.name}{weight}{f':{VETO}' if voters.veto else ''}"


def _needed(electorate: Electorate) -> str:
    if electorate.approvals:
        return contents.share(electorate.approvals)
    share = electorate.share or _HALF
    return f"{'more than ' if share <= _HALF else ''}{share:.4g} of the weight"


def _rules_of(merging: Merging) -> list[str]:
    """The rules that differ from the usual ones, as `--merge` takes them."""
    named = {name: getattr(merging, name) for name in TYPES}
    rules = [f"{name}={rule}" for name, rule in named.items() if rule not in {"", _USUAL[name]}]
    of_fields = [f"{FIELD}{path}={rule}" for path, rule in merging.fields.items()]
    return [values.printable(each) for each in (*rules, *of_fields)]

"""Wrong command lines of consensus: refused before anything is sent, with what to say instead."""

import pytest

from lavagna_cli.exits import ExitCode
from lavagna_cli.running import run

PROPOSAL = "design/000000000001-000"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("propose design", "either a VALUE or --delete"),
        ("propose design x --delete", "either a VALUE or --delete"),
        ("propose design --delete --tag a", "nothing but --expect"),
        ("propose design x --confidence 2", "--confidence"),
        ("propose design { --json", "not JSON"),
        ("propose design x --json --text", "only one of --json, --text and --data"),
        ("propose design x --private", "--private"),
        (f"vote {PROPOSAL}", "accept|reject|abstain"),
        (f"vote {PROPOSAL} maybe", "none of accept, reject, abstain"),
        (f"vote {PROPOSAL} unknown", "none of accept, reject, abstain"),
        (f"vote {PROPOSAL} accept --confidence sure", "--confidence"),
        (f"proposals wait {PROPOSAL} --timeout soon", "not a duration"),
        ("proposals list --outcome won", "none of open, accepted"),
        ("proposals list --open --outcome open", "--outcome goes with neither"),
        ("proposals list --mine --outcome open", "--outcome goes with neither"),
        ("claim effort", "VALUE"),
        ("claim effort 3 --ttl later", "not a duration"),
        ("claim effort 3 --confidence -1", "--confidence"),
        ("resolve effort 4 --tolerance -1", "--tolerance"),
        ("explain effort --at 0", "--at"),
        ("agents standing bob --trust 2", "--trust"),
        ("regions set a --policy senate", "none of guarded, latest, owner, quorum, weighted"),
        ("regions set a --policy quorum --voter ada:much", "no weight above 0"),
        ("regions set a --voter ada", "--voter goes with --policy quorum"),
        ("regions set a --policy weighted --merge mean", "is not TYPE=RULE"),
        ("ls --kind dream", "none of note, proposal, ballot, claim"),
        ("triggers set t --on a --change created --change decided", "Say --kind"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong(
    line: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == ExitCode.USAGE

    out, err = capfd.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1

"""Keys: where things are on the crew's board."""

REQUEST = "request"
GOAL = "goal"
DESIGN = "design"
ESTIMATE = "estimate"
REPORT = "report"
VERDICT = "verdict"


def presence(agent: str) -> str:
    """That an agent is up."""
    return f"crew/{agent}"


def opinion(agent: str, proposal: str) -> str:
    """What an agent thinks of a proposed design, by the proposal's key."""
    return f"opinions/{agent}/{proposal.rpartition('/')[2]}"


def task(name: str) -> str:
    """What is to be done."""
    return f"tasks/{name}"


def code(task_name: str, file: str) -> str:
    """A file of the program."""
    return f"code/{task_name}/{file}"


def submission(task_name: str) -> str:
    """The newest attempt at a task."""
    return f"submissions/{task_name}"


def test_file(task_name: str, file: str) -> str:
    """A test file."""
    return f"tests/{task_name}/{file}"


def suite(task_name: str) -> str:
    """The newest edition of a task's tests."""
    return f"suites/{task_name}"


def result(task_name: str) -> str:
    """What came of the newest run of a task's tests."""
    return f"results/{task_name}"


def objection(task_name: str) -> str:
    """Why a task's tests are wrong."""
    return f"objections/{task_name}"


def review(task_name: str) -> str:
    """What is to be done better."""
    return f"reviews/{task_name}"


def usage(agent: str) -> str:
    """Below it stands what an agent's replies took."""
    return f"usage/{agent}"

"""Why a model gave no reply, told apart by what a person can do about it."""

from collections.abc import Sequence

from lavagna_crew.models.port import Tokens


class ModelError(Exception):
    """There is no usable reply."""

    def __init__(self, message: str, *, tokens: Tokens | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or Tokens()
        """What was spent in vain."""


class ModelUnavailable(ModelError):
    """The model could not be reached or was too busy, however often it was asked; try later."""

    def __init__(self, model: str, *, attempts: int, last: str, tokens: Tokens) -> None:
        times = "once" if attempts == 1 else f"{attempts} times"
        super().__init__(f"{model} was asked {times} and did not answer: {last}", tokens=tokens)
        self.model, self.attempts, self.last = model, attempts, last


class ModelRefused(ModelError):
    """The model will not answer, and asking again will not help; change what `remedy` names."""

    def __init__(self, model: str, *, why: str, remedy: str, tokens: Tokens | None = None) -> None:
        super().__init__(f"{model} refused: {why}; {remedy}", tokens=tokens)
        self.model, self.why, self.remedy = model, why, remedy


class InvalidReply(ModelError):
    """The reply did not have the shape asked for, not even after it was sent back for repair."""

    def __init__(
        self, model: str, *, shape: str, complaints: Sequence[str], tokens: Tokens | None = None
    ) -> None:
        super().__init__(f"{model} gave no valid {shape}: {'; '.join(complaints)}", tokens=tokens)
        self.model, self.shape, self.complaints = model, shape, tuple(complaints)


class NoScript(ModelError):
    """The script has no reply for this turn."""

    def __init__(self, script: str, turn: str) -> None:
        super().__init__(f"the script {script!r} has no reply for the turn {turn!r}")
        self.script, self.turn = script, turn


class NoModel(ModelError):
    """The task has no script, and no model is set that could think about it."""

    def __init__(self, task: str, scripted: Sequence[tuple[str, str]]) -> None:
        tasks = "\n".join(f"  {name:<14} {text}" for name, text in scripted)
        super().__init__(
            f"no script plays the task {task!r}, and no model is set.\n"
            f"Scripted tasks, by name:\n{tasks}\n"
            "For any other task set OPENAI_API_KEY, or OPENAI_BASE_URL to the address of an "
            "OpenAI-compatible server,\nand LAVAGNA_MODEL to the name of the model."
        )
        self.task, self.scripted = task, tuple(scripted)

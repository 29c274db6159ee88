"""A bar that notes what it is told, for tests of work that counts its steps."""

from overread._terminal import ProgressBar


class NotedProgress(ProgressBar):
    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, int | None] = {}
        self.done: dict[str, int] = {}

    def begin(self, what: str, total: int | None) -> int:
        self.totals[what] = total
        self.done.setdefault(what, 0)
        return super().begin(what, total)

    def advance(self, steps: int, level: int = 0) -> None:
        self.done[self._pieces[level].what] += steps
        super().advance(steps, level)

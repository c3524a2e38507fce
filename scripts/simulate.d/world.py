"""What a run talks to: a daemon with its disk, clients' connections and time, simulated or real.

A world answers to orders only; it never calls back. Time passes in `advance` alone.
"""

from typing import NamedTuple, Protocol, Sequence


class Line(NamedTuple):
    """A line that the daemon has sent, without its end."""

    connection: int
    data: bytes


class Descriptor(NamedTuple):
    """A descriptor that came with the next line: what is in its file."""

    connection: int
    data: bytes


class Closed(NamedTuple):
    """The daemon has ended a connection: `end`, or `reset`."""

    connection: int
    how: str


class Ended(NamedTuple):
    """The process is gone: its exit status, negative for a signal."""

    code: int
    text: str


class Accepted(NamedTuple):
    connection: int


class Refused(NamedTuple):
    connection: int


class Restored(NamedTuple):
    """What a restore came to: its exit status (None: it was stopped on its way), what it said, whether something is there."""

    code: int | None
    text: str
    is_there: bool
    was_cut: bool


def around(data, place):
    """What a message shows of a file, about a place in it."""
    return data[max(0, place - 40):place + 60]


class World(Protocol):
    # Nanoseconds since the world began; they never go back.
    now: int
    # Nanoseconds since 1970, as the world's clock has it.
    wall: int

    def start(self, configuration: dict) -> None:
        """Starts the daemon on the disk as it is; `configuration` is its file's content, without paths that the world chooses."""

    def configure(self, configuration: dict) -> None:
        """Puts another configuration in place, for the next SIGHUP."""

    def connect(self, role: str) -> int: ...

    def send(self, connection: int, data: bytes, descriptors: Sequence[bytes] = ()) -> None:
        """Sends bytes; each descriptor is a file with that content, passed with the first of them."""

    def half_close(self, connection: int) -> None: ...

    def close(self, connection: int) -> None: ...

    def reset(self, connection: int) -> None: ...

    def window(self, connection: int, count: int) -> None:
        """How many bytes more the client reads; negative: all that come."""

    def signal(self, number: int) -> None: ...

    def kill(self) -> None: ...

    def cut(self) -> None: ...

    def advance(self, span: int) -> list:
        """Lets at most `span` nanoseconds pass, fewer when something comes; returns what has come, in order."""

    def fault(self, rule: dict) -> None: ...

    def clear(self) -> None:
        """Ends all faults."""

    def crowd(self, permille: int | None) -> None:
        """Threads stand still at so many calls; None: at as many as ever."""

    def room(self, count: int) -> None: ...

    def flip(self, path: str, offset: int, mask: int) -> None: ...

    def find(self, marks: Sequence[bytes]) -> list[tuple[str, int, bytes]]:
        """The disk's files in which one of these lies, where in them, and what is around it, in the order of their paths."""

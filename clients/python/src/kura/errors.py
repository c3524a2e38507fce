"""What goes wrong: what the daemon answers, by kind (`methods/kinds.py`), and what this side finds out by itself."""

from __future__ import annotations

import builtins
import re
from typing import Any, Dict, Mapping, Optional


class KuraError(Exception):
    """Anything that goes wrong with Kura."""


def shortened(place: str, length: int) -> str:
    """The beginning and the end of where something is, when that is far down."""
    return place if len(place) <= length else f"{place[: length - 20]}…{place[-19:]}"


class ServerError(KuraError):
    """An error that the daemon answered, or would have; its class is its kind.

    `data` is what came with it; `method` what was called; `request_key` the key of a write, under which it can be sent
    once more without being done twice.
    """

    kind = ""
    code = 0
    is_retryable = False
    remedy = ""

    def __init__(
        self, method: str, message: str, data: Mapping[str, Any], code: Optional[int] = None, request_key: Optional[str] = None
    ) -> None:
        self.method = method
        self.message = message
        self.data: Dict[str, Any] = dict(data)
        self.request_key = request_key
        if code is not None:
            self.code = code
        if not self.kind:
            self.kind = str(self.data.get("kind", "unknown"))
            self.is_retryable = bool(self.data.get("retryable", False))
        super().__init__(self._text())

    def __str__(self) -> str:
        # Those that are a KeyError too would be shown in quotes.
        return str(self.args[0])

    def __reduce__(self) -> Any:
        # What goes to another process (of a pool, say) arrives as what it was.
        return type(self), (self.method, self.message, self.data, self.code, self.request_key)

    @property
    def current_rev(self) -> Optional[int]:
        """Of a conflict: the item's revision now; 0 when it is absent."""
        return self.data.get("currentRev")

    @property
    def limit(self) -> Optional[int]:
        """The bound that was crossed."""
        return self.data.get("limit")

    def _text(self) -> str:
        details = []
        if "parameter" in self.data:
            details.append(f"parameter {in_python(str(self.data['parameter']))}{shortened(str(self.data.get('path', '')), 60)}")
        elif self.data.get("path"):
            details.append(f"at {shortened(str(self.data['path']), 60)}")
        for name in DETAILS:
            if name in self.data:
                details.append(f"{name} {self.data[name]}")
        if "grant" in self.data:
            grant = self.data["grant"]
            scope = f" {grant['scope']!r}" if "scope" in grant else ""
            details.append(f"missing: {', '.join(grant.get('allow', ()))} on {grant.get('store')}{scope}")
        text = f"{self.method}: {self.message}"
        if details:
            text += f" ({'; '.join(details)})"
        sentences = [self.data.get("hint", ""), ADVICE.get(self.kind, self.remedy)]
        return ". ".join([text, *(in_python(sentence.strip().rstrip(".")) for sentence in sentences if sentence.strip())]) + "."


# Of what came with an error those that its text has.
DETAILS = (
    "index", "operation", "line", "limit", "currentRev", "oldestRev", "domain", "collection", "service", "account", "namespace", "id", "name",
    "indexName", "reason",
)  # fmt: skip
_VALUES = {"true": "True", "false": "False", "null": "None"}


def in_python(text: str) -> str:
    """The protocol's words for methods, parameters and what came with an error as Python spells them."""
    from .methods.table import METHODS, WORDS

    def method(found: "re.Match[str]") -> str:
        if found[0] == "session.hello":
            return "client.server()"
        return f"client.{found[1]}.{_snake(found[2])}" if found[0] in METHODS else found[0]

    text = re.sub(r"(?<![\w.])data\.(\w+)", r'error.data["\1"]', text)
    stores = "|".join({name.partition(".")[0] for name in METHODS} - {"transaction"})
    text = re.sub(rf"(?<![\w.])({stores})\.(\w+)", method, text)
    text = re.sub(r'\b(\w+): (true|false|null|"\w+")', lambda found: f"{found[1]}={_VALUES.get(found[2], found[2])}", text)
    return re.sub(r'(?<![\w."])[a-z]+[A-Z]\w*', lambda found: WORDS.get(found[0], found[0]), text)


def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


# What to do in Python, where that is more than the protocol's own remedy.
ADVICE = {
    "valueTooLarge": "A setting takes 1 MiB, a document 8 MiB; larger things are blobs (client.blobs) or a document's attachments",
    "sealed": "Have somebody unlock them, by `kura secrets unlock` or client.secrets.unlock(passphrase=…), then call again; "
    "client.secrets.status() shows the state",
    "forbidden": "client.server() shows what this connection may do; the daemon's administrator grants more, "
    "or runs a socket with another role (KURA_SOCKET names the socket)",
    "conflict": "Somebody else has changed it: read it again, change what is there, write with its rev; `edit` does so by itself",
    "outcomeUnknown": "Whether the change was made is not known: read the item and its rev, then decide; "
    "the same call with request_key=error.request_key is not done twice",
    "parseError": "A value is nested at most 126 levels deep; whatever else it is, report it",
    "badRecord": "What comes before that line is stored. Correct it and import again: what has ids is not stored twice; "
    "or pass skip_bad=True to import_from, which goes past bad lines and tells them",
    "indexNeeded": "Give the collection an index (add_index), or pass allow_scan=True when it may take long; a search needs "
    "client.documents.configure(…, search_fields=…)",
    "indexBuilding": "Try again later; the collection's add_index waits until it is ready",
    "notFound": "The store's list and scopes show what is there, and put makes it; client.documents.restore brings a document back while its "
    "tombstone is kept",
    "invalidParams": "See help() of the method; nothing was changed",
    "methodNotFound": "client.rpc.discover() has the list: the daemon is another version than this client",
    "lineTooLong": "Split the request; client.server() tells the limits",
    "tooManySubscriptions": "Close some watches (close(), or `with`); one can cover many items",
    "epochChanged": "Forget the revisions, read the items anew, and remember the epoch that client.server() tells",
    "descriptorMissing": "Pass a file that is open, or its descriptor, as fd",
    "pathDenied": "Open the file yourself and pass it as fd",
    "replyTooLarge": "Ask for fewer items at once (page=, limit=)",
    "timeout": "Narrow it, give it an index, or more time (timeout_ms=)",
    "compacted": "Read the items themselves, then go on with the rev of what was read; a watch tells so by a Resync",
}


class ServerGoneError(KuraError, ConnectionError):
    """No daemon answers at the socket."""


class NoReplyError(KuraError, builtins.TimeoutError):
    """The reply did not come in time; a write may have been done, and its `request_key` tells when it is sent again."""

    def __init__(self, text: str, request_key: Optional[str] = None) -> None:
        super().__init__(text)
        self.request_key = request_key


class VersionMismatchError(KuraError):
    """The daemon speaks another version of the protocol than this client, or is none of ours."""


class ProtocolError(KuraError):
    """What came from the socket is not what the protocol says."""


def next_cursor(page: Mapping[str, Any], cursor: Optional[str]) -> Optional[str]:
    """Where the next page of a list begins; None at the end. Raises ProtocolError when that is where this one began (`cursor`)."""
    following: Optional[str] = page.get("cursor")
    if following is not None and following == cursor:
        raise ProtocolError("a page of a list leads to itself: is this Kura's socket?")
    return following


class NotJSONError(KuraError, TypeError):
    """A value has something that JSON cannot say; nothing was sent."""


class ClosedError(KuraError):
    """The client has been closed."""


class FetchFailedError(KuraError):
    """A cached value is not there, and whoever fetches it has asked that nobody tries for a while."""

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.retry_after)


class RetryLater(Exception):
    """Raised by a cached function: its source asks to be left alone for so many seconds."""

    def __init__(self, seconds: float, text: str = "") -> None:
        super().__init__(text or f"not before {seconds} seconds are over")
        self.seconds = seconds

    def __reduce__(self) -> Any:
        return type(self), (self.seconds, str(self))


class Lost(Exception):
    """Inside of the client: the connection is no more. Never leaves it."""

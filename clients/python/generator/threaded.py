"""The blocking client from the asyncio one: the same source without `async` and `await`.

What differs otherwise stands in `tasks.py` and `threads.py`, which have the same names.
"""

import re

# In this order; each is a whole word.
WORDS = [
    (r"async def", "def"),
    (r"async with", "with"),
    (r"async for", "for"),
    (r"await ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"__anext__", "__next__"),
    (r"aclosing", "closing"),
    (r"StopAsyncIteration", "StopIteration"),
    (r"AsyncIterator", "Iterator"),
    (r"AsyncIterable", "Iterable"),
    (r"Coroutine\[Any, Any, ([^\]]+)\]", r"\1"),
    (r"Awaitable\[([^\]]+)\]", r"\1"),
    (r"Async([A-Z]\w*)", r"\1"),
    (r"tasks", "threads"),
    (r"kura\.aio", "kura"),
]


def render(source: str, name: str) -> str:
    for pattern, replacement in WORDS:
        end = "" if pattern.endswith((" ", r"\]", ")")) else r"\b"
        source = re.sub(r"\b" + pattern + end, replacement, source)
    return f"# Generated from ../aio/{name} by generator/: change it there.\n\n{source}"

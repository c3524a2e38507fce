"""Makes the parameters of every method: a builder a method, registered under its name."""

BUILDERS = {}
# Of enum PassedKind: an empty file that can be written.
EMPTY = 1
# How often a method is chosen beside others; 10 when it says nothing.
WEIGHTS = {}


def builds(name, weight=10):
    def register(function):
        BUILDERS[name] = function
        WEIGHTS[name] = weight
        return function
    return register


def load():
    """All builders; each method of the table has one, and there are no others."""
    from makers import blobs, documents, models, queries, secrets, settings, whole  # noqa: F401
    from schemas import METHODS

    assert BUILDERS.keys() == METHODS.keys(), sorted(BUILDERS.keys() ^ METHODS.keys())
    return BUILDERS

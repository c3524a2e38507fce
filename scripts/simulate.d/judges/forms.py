"""Replies by the method table: what a result looks like, and which errors a method may answer."""

from judges.base import Judge
from schemas import ERRORS, METHODS
from values import Number, text, whole


class Errors(Judge):
    name = "errors"
    sentence = ("exactly: the kind of each error is in its method's list or one that any request may meet, with the code, the message "
                "and the word on retrying that the table of errors has")

    def answered(self, asked, result, kind, error):
        if error is None or asked.method not in METHODS:
            return
        listed = METHODS[asked.method]["errors"]
        if kind not in ERRORS:
            self.fail("kind", f"request {asked.number}, {asked.method}, is answered with an error that is in no table: {text(error)[:300]}")
        elif kind not in listed and not ERRORS[kind]["anywhere"]:
            self.fail("list", f"{asked.method} does not list {kind}: request {asked.number}, "
                              f"{text(asked.params)[:300]}: {text(error)[:300]}")
        else:
            table = ERRORS[kind]
            told = whole(error["code"]), error["message"], error["data"]["retryable"]
            if told != (whole(table["code"]), table["message"], table["retryable"]):
                self.fail("table", f"request {asked.number}, {asked.method}: the table of errors has another "
                                   f"{kind} than {text(error)[:300]}")


class OnDemand(Judge):
    name = "faults on demand"
    sentence = ("exactly, on a throw-away daemon at the end of some runs: conflict, overloaded, slow, full and gone strike as their page "
                "says, as often as they say, and no more")


class Results(Judge):
    name = "results"
    sentence = ("by invariant: every result has the form that the method table gives it; a check finds no problem, but for a "
                "cache's bytes that a power cut has torn, of which it tells once; they are never given")

    def __init__(self, run):
        super().__init__(run)
        self.torn = None          # what was told of caches since the last power cut; None: there was none

    def stopped(self, was_clean):
        if self.history.was_cut:
            self.torn = set()

    def is_torn(self, problem):
        place = problem["what"], problem["where"]
        if self.torn is None or problem["what"] not in ("blob", "cache") or place in self.torn:
            return False
        self.torn.add(place)
        return True

    def answered(self, asked, result, kind, error):
        if result is None or asked.method not in METHODS:
            return
        broken = breaks(result, METHODS[asked.method]["result"]["schema"])
        if broken and asked.method != "rpc.discover":
            self.fail("form", f"request {asked.number}, {asked.method}: {broken}")
        if asked.method == "storage.check" and not self.run.faults_active:
            problems = [problem for problem in result["problems"] if not self.is_torn(problem)]
            if problems or whole(result["problemCount"]) > len(result["problems"]):
                self.fail("check", f"request {asked.number}: {text(problems)[:500]}")
        if asked.method == "secrets.verify" and whole(result["damagedCount"]):
            self.fail("damaged", f"request {asked.number}: {text(result['damaged'])[:500]}")


def breaks(value, schema, place="result"):
    """Where a result breaks its schema, or None."""
    kind = schema.get("type")
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is {value!r}"
    if kind == "integer":
        number = whole(value)
        if number is None or not schema.get("minimum", -2**53) <= number <= schema.get("maximum", 2**53):
            return f"{place} is {value!r}"
    elif kind == "boolean" and not isinstance(value, bool) or kind == "string" and (not isinstance(value, str)
                                                                                    or isinstance(value, Number)):
        return f"{place} is {value!r}"
    elif kind == "array":
        if not isinstance(value, list):
            return f"{place} is no array"
        return next(filter(None, (breaks(part, schema.get("items", {}), f"{place}/{at}") for at, part in enumerate(value))), None)
    elif kind == "object":
        if not isinstance(value, dict):
            return f"{place} is no object"
        known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in schema.get("required", ()):
            if name not in value:
                return f"{place} lacks {name}"
        for name, part in value.items():
            if name not in known and more is False:
                return f"{place} has {name}"
            inner = known.get(name, more if isinstance(more, dict) else {})
            if found := breaks(part, inner, f"{place}/{name}"):
                return found
    return None



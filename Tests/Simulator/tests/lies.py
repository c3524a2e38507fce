"""Alters one reply of a run, in each of some ways, and tells which lies the judges find: lies.py [--seeds N] [--kurad FILE] [LIE…]

Slow: a run for each lie and seed. A lie that no reply of a run suits says nothing. Exit status 1: one kind of lie was never found.
"""

import argparse
import base64
import os
import random
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts/simulate.d"), str(ROOT / "scripts/lib")]

import kernel
import run as runs
import session
import simulated
from generator import Generator
from schemas import METHODS
from values import Number, parse, text, whole

LIES = {}


# By lie: what its runs ask for often, besides what it is about.
BESIDE = {}


def lie(*methods, beside=()):
    """Of results of these methods: changes the result, or returns False when it does not suit."""
    def register(function):
        name = function.__name__.replace("_", " ")
        LIES[name], BESIDE[name] = (methods, function), beside
        return function
    return register


def other(value):
    return "a lie" if value != "a lie" else "another"


@lie("settings.get", "documents.get")
def another_value(result, asked):
    if whole(result["rev"]) == 0:
        return False
    result["value"] = other(result.get("value"))


@lie("settings.get", "documents.get", "settings.put", "documents.put")
def another_revision(result, asked):
    if whole(result["rev"]) == 0:
        return False
    result["rev"] = Number(whole(result["rev"]) + 1)


@lie("settings.get", "documents.get")
def nothing_there(result, asked):
    if whole(result["rev"]) == 0 or "default" in asked.params:
        return False
    result["rev"] = Number(0)
    result.pop("value", None)


@lie("documents.list", "documents.find", "documents.search")
def a_document_less(result, asked):
    if not result["documents"]:
        return False
    result["documents"].pop()


@lie("documents.list", "documents.find", "documents.search")
def a_document_twice(result, asked):
    if not result["documents"]:
        return False
    result["documents"].append(result["documents"][0])


@lie("documents.search", beside=("documents.configure", "documents.put"))
def a_find_less(result, asked):
    if not result["documents"]:
        return False
    result["documents"].pop(0)


@lie("settings.list", "settings.getMany", "settings.export")
def a_setting_less(result, asked):
    values = result["values"]
    if not values:
        return False
    values.pop(next(reversed(values)))


@lie("documents.count", "settings.count")
def one_more(result, asked):
    result["count"] = Number(whole(result["count"]) + 1)


@lie("documents.distinct")
def a_value_less(result, asked):
    if not result["values"]:
        return False
    result["values"].pop()


@lie("documents.aggregate", beside=("documents.put",))
def another_sum(result, asked):
    for group in result["groups"]:
        for name in ("total", "many", "mean", "most"):
            if isinstance(group["values"].get(name), Number):
                group["values"][name] = Number(repr(float(group["values"][name]) + 1))
                return None
    return False


@lie("changes.list", "changes.wait")
def a_change_less(result, asked):
    if not result["changes"]:
        return False
    result["changes"].pop(len(result["changes"]) // 2)


@lie("changes.list", "changes.wait")
def a_page_that_goes_too_far(result, asked):
    result["rev"] = Number(whole(result["rev"]) + 3)


@lie("models.get")
def another_model(result, asked):
    if "value" not in result:
        return False
    result["value"] = other(result["value"])


@lie("models.get", "blobs.get")
def a_second_token(result, asked):
    if asked.params.get("claim") is not True or result["state" if asked.method == "models.get" else "found"] not in ("miss", False):
        return False
    if "token" in result:
        return False
    result.pop("retryAfterMs", None)
    result["token"] = "f" * 64


@lie("blobs.get")
def a_flipped_bit(result, asked):
    data = bytearray(base64.b64decode(result.get("data", "")))
    if not data:
        return False
    data[len(data) // 2] ^= 1
    result["data"] = base64.b64encode(data).decode()


@lie("documents.attachment", beside=("documents.put", "documents.attach"))
def another_attachment(result, asked):
    result["digest"] = "0" * 64


@lie("documents.attachment", beside=("documents.put", "documents.attach"))
def a_flipped_bit_of_an_attachment(result, asked):
    return a_flipped_bit(result, asked)


@lie("blobs.put")
def another_digest(result, asked):
    if "digest" not in result:
        return False
    result["digest"] = "0" * 64


@lie("secrets.get")
def another_secret(result, asked):
    if not isinstance(result.get("secret"), str) or "version" in asked.params:
        return False
    result["secret"] = result["secret"] + "x"


@lie("storage.status")
def another_epoch(result, asked):
    result["epoch"] = "00000000-0000-4000-8000-000000000000"


@lie("transaction.apply")
def a_result_less(result, asked):
    if not result["results"]:
        return False
    result["results"].pop()


@lie("settings.put", "settings.increment", "documents.put", "documents.patch", "secrets.put", "transaction.apply", "documents.putMany")
def done_and_told_as_refused(result, asked):
    return {"error": {"code": Number(-32005), "message": "Quota exceeded", "data": {"kind": "quotaExceeded", "retryable": False}}}


@lie("settings.put", "documents.put", "secrets.put")
def told_as_relaxed(result, asked):
    result["durable"] = "perhaps"


@lie("settings.put", "documents.put", "documents.patch", "changes.list", "models.get", "blobs.stat", "secrets.list", "storage.ping")
def no_answer(result, asked):
    return None, []


@lie("settings.put", "documents.put", "documents.patch", "changes.list", "models.get", "blobs.stat", "secrets.list", "storage.ping")
def two_answers(result, asked):
    return None, [{"result": result}, {"result": result}]


@lie("settings.put", "documents.find", "secrets.put", "blobs.list", "models.list", "storage.status", "changes.list")
def a_member_less(result, asked):
    schema = METHODS[asked.method]["result"]["schema"]
    result.pop(random.Random(asked.number).choice(schema["required"]), None)




# Of errors and notifications, which have no method in LIES.
def an_error_of_another_kind(error, asked):
    error["data"]["kind"] = "digestMismatch" if error["data"]["kind"] != "digestMismatch" else "referenced"


def refused_and_told_as_done(error, asked):
    if asked.method not in ("settings.put", "documents.put", "secrets.put"):
        return False
    return {"result": {"rev": Number(1_500_000_000 + asked.number), **({"id": asked.params.get("id", "x")} if asked.method == "documents.put" else {}),
                       **({"version": Number(1)} if asked.method == "secrets.put" else {})}}


OF_ERRORS = {"an error of another kind": an_error_of_another_kind, "refused and told as done": refused_and_told_as_done}


def a_notification_less(params):
    return False if params.get("snapshot") else None


def a_changed_document_less(params):
    if not params.get("changes"):
        return False
    params["changes"].pop()
    return params


OF_NOTIFICATIONS = {"a notification less": ("changes.changed", a_notification_less), "a live change less": ("documents.changed", a_changed_document_less),
                    "a change less in a notification": ("changes.changed", a_changed_document_less)}


class Lying(runs.Run):
    """A run in which one thing that comes in is another than what was sent; the generator hears it as it is told."""

    lie, chosen = "", 0
    told = None

    def lines(self, client, message):
        """What is told in the place of a message."""
        if Lying.told is not None or not isinstance(message, dict) or client == "readback":
            return [message]
        if "method" in message:
            if self.lie not in OF_NOTIFICATIONS or OF_NOTIFICATIONS[self.lie][0] != message["method"]:
                return [message]
            params = OF_NOTIFICATIONS[self.lie][1](message["params"])
            return [message] if params is False or not self.is_chosen(message) else [] if params is None else [message | {"params": params}]
        asked = self.pending[client].get(text(message.get("id")))
        if asked is None or asked.role != "admin" or not isinstance(asked.params, dict) or asked.is_repeat:
            return [message]
        if self.lie in OF_ERRORS:
            given, change = message.get("error"), OF_ERRORS[self.lie]
        elif self.lie in LIES and asked.method in LIES[self.lie][0]:
            given, change = message.get("result"), LIES[self.lie][1]
        else:
            return [message]
        if given is None:
            return [message]
        copy = parse(text(given))
        changed = change(copy, asked)
        if changed is False or not self.is_chosen(message):
            return [message]
        rest = {name: message[name] for name in ("jsonrpc", "id")}
        if isinstance(changed, tuple):
            return [rest | answer for answer in changed[1]]
        return [rest | (changed or {"result" if "result" in message else "error": copy})]

    def is_chosen(self, message):
        self.chosen -= 1
        if self.chosen < 0:
            Lying.told = text(message)[:200]
        return self.chosen < 0

    def line(self, client, data):
        try:
            message = parse(data)
        except ValueError:
            return super().line(client, data)
        for told in self.lines(client, message):
            super().line(client, text(told).encode())


class Chosen:
    requests = trace = planted = None
    twice, no_shrink, keep = False, True, ""


def inclined(generator, lie):
    """Runs in which the lie can be told: half of what is asked is what it is about."""
    if lie in LIES:
        methods = [*LIES[lie][0], *BESIDE[lie]]
        share = sum(generator.weights.values()) / len(methods)
        generator.weights |= {method: generator.weights[method] + share for method in methods}
        generator.switches["search"] = True
    return generator


def tell(lie, seed, kurad):
    """What the judges find, or None; and the lie that was told, if any."""
    Lying.lie, Lying.told, Lying.chosen = lie, None, random.Random(f"{lie}{seed}").choice([0, 0, 1, 4])
    session.Run = Lying
    here = session.Session(kernel.built(), kurad, Chosen)
    head = session.begun(seed) if hasattr(session, "begun") else {"do": "world", "seed": seed, "temper": session.temper(seed)}
    tried = session.Attempt(here, head, inclined(Generator(seed, 300, kills=True, cuts=True), lie), None)
    return tried.found, Lying.told


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=30)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--kurad", default=os.environ.get("KURAD", str(ROOT / ".build/release/kurad")))
    options.add_argument("--missed", action="store_true", help="tell each lie that was not found")
    options.add_argument("lies", nargs="*")
    chosen = options.parse_args()
    unfound = 0
    for lie in chosen.lies or [*LIES, *OF_ERRORS, *OF_NOTIFICATIONS]:
        told = found = 0
        judges, missed = set(), []
        for seed in range(chosen.first, chosen.first + chosen.seeds):
            result, words = tell(lie, seed, Path(chosen.kurad))
            if words is not None:
                told += 1
                found += bool(result)
                judges |= {result.split("]")[0] + "]"} if result else set()
                missed += [] if result else [(seed, words)]
        unfound += told > 0 and not found
        print(f"{lie}: {found} of {told} found{', by ' + ' '.join(sorted(judges)) if judges else ''}", flush=True)
        for seed, words in missed if chosen.missed else ():
            print(f"    missed with seed {seed}: {words}", flush=True)
    return 1 if unfound else 0


if __name__ == "__main__":
    sys.exit(main())

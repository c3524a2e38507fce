"""Settings: each key of each domain is a register."""

from judges.base import Snapshots
from values import ABSENT, ANY, canonical, same, text, whole


class Settings(Snapshots):
    name = store = "settings"
    sentence = ("exactly: each key is a register by revision; a read shows what was last acknowledged or a write whose outcome is unknown; "
                "lists, counts and sizes by brute force as of their revision; after an end everything acknowledged is found")

    def __init__(self, run):
        super().__init__(run)
        self.overridden = set()   # client and domain

    def sent(self, asked):
        if asked.method == "settings.override" and isinstance(asked.params, dict) and "spoilt" not in asked.note:
            self.overridden.add((asked.client, asked.params.get("domain")))

    def answered(self, asked, result, kind, error):
        params = asked.params
        if result is None or not asked.method.startswith("settings."):
            return
        domain = params.get("domain")
        if asked.method == "settings.get":
            self.got(asked, params, result)
        elif asked.method == "settings.put":
            self.show(asked, domain, params["key"], params["value"], result["rev"])
        elif asked.method == "settings.increment":
            self.show(asked, domain, params["key"], result["value"], result["rev"])
        elif asked.method == "settings.delete" and result["deleted"] is False:
            self.show(asked, domain, params["key"], ABSENT, 0)
        elif asked.method == "settings.getMany":
            self.later(asked, result, self.many)
        elif asked.method == "settings.count":
            self.later(asked, result, self.counted)
        elif asked.method == "settings.scopes":
            self.later(asked, result, self.sizes)
        elif asked.method in ("settings.list", "settings.export") and "cursor" not in params:
            self.later(asked, result, self.listed if asked.method == "settings.list" else self.exported)

    def got(self, asked, params, result):
        if whole(result["rev"]) == 0:
            self.show(asked, params["domain"], params["key"], ABSENT, 0)
            if "value" in result and "default" not in params and not self.layered(asked, params["domain"]):
                self.fail("value", f"request {asked.number} showed {result['value']!r} where nothing is stored and no default was given")
            return
        value = ANY if (asked.client, params["domain"]) in self.overridden else result.get("value", ABSENT)
        self.show(asked, params["domain"], params["key"], value, result["rev"])

    def layered(self, asked, domain):
        """Whether other layers than the stored one may show."""
        return self.run.ledger.has_defaults(domain) or (asked.client, domain) in self.overridden

    def items(self, domain):
        return self.history.items("settings", domain)

    def match(self, asked, domain, shown, rev, keys):
        for key in keys:
            states = self.history.may_be(("settings", domain, key), rev)
            value = shown.get(key, ABSENT)
            if not any(same(state.value, value) for state in states):
                self.fail("snapshot", f"request {asked.number}, {asked.method} of {domain} as of {rev}, shows {key!r} as "
                                      f"{str(value)[:100]!r}; "
                          f"it was {[(str(s.value)[:80], s.rev) for s in states[:3]]}")
                return

    def stored(self, asked, domain, shown, rev, keys):
        """Beside other layers: what is stored for sure is shown, whatever its value is there."""
        for key in keys:
            states = self.history.may_be(("settings", domain, key), rev)
            if key not in shown and all(state.value is not ABSENT and state.value is not ANY for state in states):
                self.fail("missing", f"request {asked.number}, {asked.method} of {domain} as of {rev}, lacks {key!r}, which was "
                                     f"{str(states[0].value)[:100]!r}")
                return

    def many(self, asked, result):
        params = asked.params
        rev = self.cover(asked, result, self.items(params["domain"]))
        if self.layered(asked, params["domain"]):
            self.stored(asked, params["domain"], result["values"], rev, params["keys"])
            return
        self.match(asked, params["domain"], result["values"], rev, params["keys"])

    def listed(self, asked, result):
        params = asked.params
        domain = params["domain"]
        keys = list(result["values"])
        if keys != sorted(keys, key=str.encode):
            self.fail("order", f"request {asked.number} lists {keys}, which are not in the order of their bytes")
        rev = self.cover(asked, result, self.items(domain))
        wanted = [item[2] for item in self.items(domain) if item[2].startswith(params.get("prefix", ""))]
        if "cursor" in result:
            wanted = [key for key in wanted if keys and key.encode() <= keys[-1].encode()]
        if params.get("layers") != "app" and self.layered(asked, domain):
            self.stored(asked, domain, result["values"], rev, wanted)
            return
        self.match(asked, domain, result["values"], rev, [*wanted, *(key for key in keys if key not in wanted)])

    def exported(self, asked, result):
        if "cursor" in result:
            return
        for domain in asked.params.get("domains") or [scope for store, scope in self.history.scopes if store == "settings"]:
            rev = self.cover(asked, result, self.items(domain))
            shown = result["values"].get(domain, {})
            self.match(asked, domain, shown, rev, [*[item[2] for item in self.items(domain)], *shown])

    def numbers(self, domain, rev):
        """Least and greatest count and bytes of a domain; None when not all is known."""
        count = [0, 0]
        size = 0
        for item in self.items(domain):
            states = self.history.may_be(item, rev)
            if any(state.value is ANY for state in states):
                return None
            there = [state.value is not ABSENT for state in states]
            count[0] += all(there)
            count[1] += any(there)
            if len({canonical(state.value) for state in states}) > 1 or there[0] and self.history.is_spelled_otherwise(states[0].value,
                                                                                                                       states[0].rev or 0):
                size = None
            elif size is not None and there[0]:
                size += len(item[2].encode()) + len(text(states[0].value))
        return count, size

    def counted(self, asked, result):
        domain = asked.params["domain"]
        rev = self.cover(asked, result, self.items(domain))
        numbers = self.numbers(domain, rev)
        if numbers and not numbers[0][0] <= whole(result["count"]) <= numbers[0][1]:
            self.fail("count", f"request {asked.number} counts {result['count']} in {domain} as of {rev}; there were {numbers[0]}")

    def sizes(self, asked, result):
        shown = {scope["domain"]: scope for scope in result["scopes"]}
        for store, domain in self.history.scopes:
            if store != "settings":
                continue
            rev = self.cover(asked, result, self.items(domain))
            numbers = self.numbers(domain, rev)
            scope = shown.get(domain, {"count": 0, "bytes": 0})
            if numbers and not numbers[0][0] <= whole(scope["count"]) <= numbers[0][1]:
                self.fail("count", f"request {asked.number} tells {scope['count']} settings of {domain} as of {rev}; there were "
                                   f"{numbers[0]}")
            elif numbers and numbers[1] is not None and whole(scope["bytes"]) != numbers[1]:
                self.fail("bytes", f"request {asked.number} tells {scope['bytes']} bytes of {domain} as of {rev}; they were {numbers[1]}")

"""Documents: each id of each collection is a register; queries by brute force over what the registers were."""

from judges.base import Snapshots
from judges.past import destroys
from patches import names
from matching import Unknown, at_path, matches, projected
from values import ABSENT, ANY, canonical, decimal, equal, order, same, text, whole


class Documents(Snapshots):
    name = store = "documents"
    sentence = ("exactly: each id is a register by revision, patches and sums are applied by the model, tombstones keep their value; list, "
                "find, count, distinct and aggregate by brute force as of their revision; after an end everything acknowledged is found")

    def __init__(self, run):
        super().__init__(run)
        self.drops = {}           # by client and collection: its last drop, and the revision of it
        self.destroyed = set()    # collections whose past may be gone

    def sent(self, asked):
        if collection := destroys(asked):
            self.destroyed.add(collection)

    def answered(self, asked, result, kind, error):
        params = asked.params
        if result is None or not asked.method.startswith("documents."):
            return
        self.dropped(asked, params, result)
        collection = params.get("collection")
        if asked.method == "documents.get" and "atRev" not in params:
            self.show(asked, collection, params["id"], result.get("value", ABSENT), result["rev"])
        elif asked.method == "documents.put":
            self.show(asked, collection, result["id"], params["value"], result["rev"])
        elif asked.method == "documents.delete" and result["deleted"] is False:
            self.show(asked, collection, params["id"], ABSENT, 0)
        elif asked.method == "documents.getMany":
            for document in result["documents"]:
                self.show(asked, collection, document["id"], document["value"], document["rev"])
            for missing in result["missing"]:
                self.show(asked, collection, missing, ABSENT, 0)
            self.later(asked, result, self.covered)
        elif asked.method == "documents.find" and "atRev" in params:
            if "cursor" not in params:
                self.later(asked, result, self.found_then)
        elif asked.method in ("documents.list", "documents.find"):
            if "fields" not in params:
                for document in result["documents"]:
                    # An older page of a list that goes on is no promise of its own, but each document was so at some time.
                    self.show(asked, collection, document["id"], document["value"], document["rev"])
            self.later(asked, result, self.found)
        elif asked.method in ("documents.count", "documents.distinct", "documents.aggregate", "documents.explain", "documents.scopes"):
            self.later(asked, result, getattr(self, asked.method.split(".")[1]))

    def dropped(self, asked, params, result):
        """A deletion by selector ends with its collection: it deletes nothing behind a drop that came after it by the same connection."""
        if asked.is_repeat or asked.batch is not None:
            return
        if asked.method == "documents.drop" and result["dropped"]:
            self.drops[asked.client, params["collection"]] = asked.number, whole(result["rev"])
        elif asked.method == "documents.deleteMany" and "where" in params and result.get("slices") == "1":
            number, rev = self.drops.get((asked.client, params["collection"]), (0, 0))
            if number > asked.number and whole(result["rev"]) > rev:
                self.fail("dropped", f"request {asked.number} deletes {result['deleted']} documents at {result['rev']}, where its "
                                     f"collection was dropped at {rev} (request {number})")

    def items(self, collection):
        return self.history.items("documents", collection)

    def covered(self, asked, result):
        self.cover(asked, result, self.items(asked.params["collection"]))

    # MARK: Brute force

    def candidates(self, collection, selector, rev):
        """Of each document its states as of a revision, with whether they match; None when one is not known."""
        result = {}
        for item in self.items(collection):
            states = self.history.may_be(item, rev)
            if any(state.value is ANY for state in states):
                return None
            result[item[2]] = [(state, state.value is not ABSENT and matches(selector, state.value, item[2])) for state in states]
        return result

    def definite(self, collection, selector, rev):
        """The documents that match as of a revision, by id; None when that is not sure."""
        found = self.candidates(collection, selector, rev)
        if found is None or any(len({(canonical(state.value), state.rev) for state, _ in states}) > 1 for states in found.values()):
            return None
        return {name: states[0][0].value for name, states in found.items() if states[0][1]}

    def judge(self, asked, result, judge):
        rev = self.cover(asked, result, self.items(asked.params["collection"]))
        if rev is None:
            return None
        try:
            return judge(rev)
        except Unknown:
            return None

    def found(self, asked, result):
        if "cursor" in asked.params:
            return
        self.judge(asked, result, lambda rev: self.found_at(asked, result, rev))

    def found_then(self, asked, result):
        rev = whole(asked.params["atRev"])
        if asked.params["collection"] not in self.destroyed and rev >= self.history.base:
            self.found_at(asked, result, rev)

    def found_at(self, asked, result, rev):
        params = asked.params
        candidates = self.candidates(params["collection"], params.get("where") or {}, rev)
        if candidates is None:
            return
        shown = {document["id"]: document for document in result["documents"]}
        if len(shown) < len(result["documents"]):
            self.fail("repeat", f"request {asked.number} shows a document twice")
        complete = "cursor" not in result
        for name, states in candidates.items():
            document = shown.get(name)
            if document is None:
                if complete and all(matched for _, matched in states):
                    self.fail("missing", f"request {asked.number}, {asked.method} {text(params)[:300]}, as of {rev} lacks {name!r}: "
                                         f"{text(states[0][0].value)[:200]}")
            elif not any(matched and same(projected(state.value, params.get("fields"), name), document["value"]) and
                         state.rev in (whole(document["rev"]), None) for state, matched in states):
                self.fail("wrong", f"request {asked.number}, {asked.method} {text(params)[:300]}, as of {rev} shows {name!r} as "
                                   f"{text(document['value'])[:200]} "
                          f"of {document['rev']}; it was "
                          f"{[(text(s.value)[:150] if s.value is not ABSENT else 'absent', s.rev, m) for s, m in states[:3]]}")
        for name in shown:
            if name not in candidates:
                self.fail("wrong", f"request {asked.number} shows {name!r}, which nobody has written")
        if asked.method == "documents.list":
            self.sorted_by(asked, [([True], document["id"]) for document in result["documents"]], list(shown))
        elif params.get("sort") and "fields" not in params:
            self.sorted_by(asked, [self.place(params["sort"], document) for document in result["documents"]], list(shown))

    def place(self, sort, document):
        directions, keys = [], []
        for part in sort:
            path, direction = next(iter(part.items())) if isinstance(part, dict) else (part, "asc")
            directions.append(direction == "asc")
            keys.append(order(at_path(document["value"], path, document["id"])))
        return directions, keys

    def sorted_by(self, asked, places, shown):
        for (directions, one), (_, other) in zip(places, places[1:]):
            if isinstance(one, str):
                wrong = one.encode() >= other.encode()
            else:
                wrong = next(((a > b) == upwards for upwards, a, b in zip(directions, one, other) if a != b), False)
            if wrong:
                self.fail("order", f"request {asked.number}, {asked.method} {text(asked.params)[:200]}, has another order: {shown}")
                return

    def count(self, asked, result):
        self.judge(asked, result, lambda rev: self.count_at(asked, result, rev))

    def count_at(self, asked, result, rev):
        candidates = self.candidates(asked.params["collection"], asked.params.get("where") or {}, rev)
        if candidates is None:
            return
        least = sum(all(matched for _, matched in states) for states in candidates.values())
        most = sum(any(matched for _, matched in states) for states in candidates.values())
        if not least <= whole(result["count"]) <= most:
            self.fail("count", f"request {asked.number}, {text(asked.params)[:300]}, counts {result['count']} as of {rev}; there were "
                               f"{least} to {most}")

    def explain(self, asked, result):
        if "cursor" in asked.params or asked.params.get("limit"):
            return
        self.judge(asked, result, lambda rev: self.count_at(asked, {"count": result["matched"]}, rev))

    def distinct(self, asked, result):
        if "cursor" not in asked.params:
            self.judge(asked, result, lambda rev: self.distinct_at(asked, result, rev))

    def distinct_at(self, asked, result, rev):
        found = self.definite(asked.params["collection"], asked.params.get("where") or {}, rev)
        if found is None:
            return
        values = []
        for name, value in found.items():
            part = at_path(value, asked.params["field"], name)
            if part is not ABSENT and not any(equal(part, other) for other in values):
                values.append(part)
        values.sort(key=order)
        if "cursor" in result:
            values = values[: len(result["values"])]
        if len(values) != len(result["values"]) or not all(map(equal, values, result["values"])):
            self.fail("distinct", f"request {asked.number}, {text(asked.params)[:200]}, gives {text(result['values'])[:300]} as of {rev}; "
                                  f"they were {text(values)[:300]}")

    def aggregate(self, asked, result):
        self.judge(asked, result, lambda rev: self.aggregate_at(asked, result, rev))

    def aggregate_at(self, asked, result, rev):
        params = asked.params
        found = self.definite(params["collection"], params.get("where") or {}, rev)
        if found is None:
            return
        groups = []
        for name, value in found.items():
            key = {path: at_path(value, path, name) for path in params.get("groupBy") or ()}
            key = {path: part for path, part in key.items() if part is not ABSENT}
            group = next((members for other, members in groups if other.keys() == key.keys() and all(equal(other[p], key[p]) for p in key)),
                         None)
            if group is None:
                groups.append((key, group := []))
            group.append((name, value))
        counts = sorted(len(members) for _, members in groups)
        told = sorted(whole(group["count"]) for group in result["groups"])
        # Without groupBy nothing at all may be one group of nothing.
        if counts != told and not (not counts and told == [0]):
            self.fail("aggregate", f"request {asked.number}, {text(params)[:200]}, has groups of {told} as of {rev}; they were of {counts}")
            return
        for key, members in groups:
            group = next((g for g in result["groups"] if set(g["key"]) == set(key) and all(equal(g["key"][p], key[p]) for p in key)), None)
            if group is None:
                # Keys with dots in their paths may be told as objects.
                continue
            for name, how in (params.get("compute") or {}).items():
                self.computed(asked, how, members, group["values"].get(name, ABSENT))

    def computed(self, asked, how, members, told):
        [(function, path)] = how.items()
        values = [part for name, value in members if (part := at_path(value, path, name)) is not ABSENT]
        numbers = [number for part in values if (number := decimal(part)) is not None]
        if function == "count" and whole(told) != len(values):
            self.fail("aggregate", f"request {asked.number}: {path} is told to be there {told!r} times, and was {len(values)}")
        elif function == "sum" and decimal(told) != sum(numbers):
            self.fail("aggregate", f"request {asked.number}: the sum of {path} is told as {told!r}, and was {sum(numbers)}")
        elif function == "avg":
            mean = float(sum(numbers)) / len(numbers) if numbers else None
            if (told is None or told is ABSENT) != (mean is None) or mean is not None and abs(float(told) - mean) > 1e-12 * max(1,
                                                                                                                                abs(mean)):
                self.fail("aggregate", f"request {asked.number}: the mean of {path} is told as {told!r}, and was {mean}")
        elif function in ("min", "max"):
            wanted = (min if function == "min" else max)(values, key=order) if values else ABSENT
            if (wanted is ABSENT) != (told is ABSENT or told is None and wanted is ABSENT) and wanted is not None or \
                    wanted is not ABSENT and told is not ABSENT and not equal(wanted, told):
                self.fail("aggregate", f"request {asked.number}: the {function} of {path} is told as {told!r}, and was {wanted!r}")

    def scopes(self, asked, result):
        shown = {scope["collection"]: scope for scope in result["scopes"]}
        for store, collection in list(self.history.scopes):
            if store != "documents":
                continue
            rev = self.cover(asked, result, self.items(collection))
            if rev is None:
                continue
            found = self.definite(collection, {}, rev)
            if found is None:
                continue
            scope = shown.get(collection, {"count": 0, "bytes": 0})
            size = sum(len(text(value)) for value in found.values())
            if any(self.history.is_spelled_otherwise(value, self.history.at(("documents", collection, name), rev)[0].rev or 0)
                   for name, value in found.items()):
                size = whole(scope["bytes"])
            if whole(scope["count"]) != len(found) or whole(scope["bytes"]) != size:
                self.fail("sizes", f"request {asked.number} tells {scope['count']} documents, {scope['bytes']} bytes of {collection} as of "
                                   f"{rev}; "
                          f"they were {len(found)}, {size}")


__all__ = ["Documents", "names"]

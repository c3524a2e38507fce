"""Documents of real shape, and the questions that are asked about them, for Kura, PostgreSQL and SQLite alike.

A document is a record of Debian's iso-codes (languages and subdivisions, over and over) with an id of its own and members that
vary: about 500 bytes of JSON. Everything follows from a fixed seed, so that the three get the same.
"""

import json
import random
from pathlib import Path

CODES = Path("/usr/share/iso-codes/json")
# The questions, each as SQLite is asked.
QUESTIONS = {
    "find": "SELECT id, body FROM cards WHERE body->>'country' = ?1 AND body->>'population' >= ?2 "
            "ORDER BY body->>'country', body->>'population' LIMIT 20",
    "count": "SELECT count(*) FROM cards WHERE body->>'country' = ?1",
    "sort": "SELECT id, body FROM cards WHERE body->>'population' <= ?1 "
            "ORDER BY body->>'population' DESC, body->>'name' DESC LIMIT 20",
    "patch": "UPDATE cards SET body = json_set(body, '$.population', ?2, '$.serial', ?3) WHERE id = ?1",
    "search": "SELECT id, body FROM words JOIN cards ON cards.row = words.rowid WHERE words MATCH ?1 ORDER BY rank LIMIT 20",
}


def records():
    lists = {name: json.loads((CODES / f"iso_{name}.json").read_text())[name] for name in ("639-3", "3166-2")}
    return [{**record, "source": name} for name, entries in lists.items() for record in entries]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def request(method, **params):
    """A line for kura-bench's replay."""
    return compact({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"


def documents(count, base, countries, words):
    """Yields (id, body as JSON)."""
    dice = random.Random(20_240_501)
    for number in range(count):
        value = {
            **base[number % len(base)], "serial": number, "country": dice.choice(countries),
            "population": dice.randrange(10_000_000),
            "updated": f"20{dice.randrange(10, 25)}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}",
            "tags": dice.sample(words, 3)}
        note = []
        size = len(compact(value).encode()) + 10
        while size < 490:
            note.append(dice.choice(words))
            size += len(note[-1].encode()) + 1
        yield f"card-{number:08}", compact({**value, "note": " ".join(note)})


class Asker:
    """Makes the requests of one question: Kura's, the same as SQL for pgbench, and its parameters for SQLite."""

    def __init__(self, count, countries, words, question):
        self.documents, self.countries, self.words = count, countries, words
        self.make = getattr(self, question)
        self.dice = random.Random(question)
        self.sequence = self.dice.sample(range(max(count, 1000)), 1000)

    def find(self, _):
        country, least = self.dice.choice(self.countries), self.dice.randrange(9_000_000)
        return (
            request("documents.find", collection="cards", where={"country": country, "population": {"$gte": least}},
                    sort=["country", "population"], limit=20),
            "\\set least random(0, 9000000)\n"
            f"SELECT id, body FROM cards WHERE body->>'country' = '{country}' AND (body->>'population')::int >= :least "
            "ORDER BY body->>'country', (body->>'population')::int LIMIT 20;\n", (country, least))

    def count(self, _):
        country = self.dice.choice(self.countries)
        return (
            request("documents.count", collection="cards", where={"country": country}),
            f"SELECT count(*) FROM cards WHERE body->>'country' = '{country}';\n", (country,))

    def sort(self, _):
        most = self.dice.randrange(1000, 10_000_000)
        return (
            request("documents.find", collection="cards", where={"population": {"$lte": most}},
                    sort=[{"population": "desc"}, {"name": "desc"}], limit=20),
            "\\set most random(1000, 10000000)\n"
            "SELECT id, body FROM cards WHERE (body->>'population')::int <= :most "
            "ORDER BY (body->>'population')::int DESC, body->>'name' DESC LIMIT 20;\n", (most,))

    def search(self, _):
        word = self.dice.choice(self.words)
        query = f"to_tsquery('simple', '{word}')"
        return (
            request("documents.search", collection="cards", query=word, limit=20, snippetWords=0),
            f"SELECT id, body FROM cards WHERE words @@ {query} ORDER BY ts_rank(words, {query}) DESC LIMIT 20;\n", (word,))

    def patch(self, place):
        # 1,000 documents, twice each: whoever begins again with the first question finds another value in its document.
        name = f"card-{self.sequence[place % 1000] % self.documents:08}"
        population = self.dice.randrange(10_000_000)
        return (
            request("documents.patch", collection="cards", id=name,
                    mergePatch={"population": population, "serial": self.dice.randrange(1 << 30)}),
            f"\\set n random(0, {self.documents - 1})\n\\set p random(0, 9999999)\n\\set s random(0, 1073741823)\n"
            "UPDATE cards SET body = body || jsonb_build_object('population', :p::int, 'serial', :s::int) "
            "WHERE id = 'card-' || lpad((:n)::text, 8, '0');\n", (name, population, self.dice.randrange(1 << 30)))


def write(count, directory):
    """Writes to the directory:

    documents.ndjson    {"id":…,"value":…} a line, for the SQLite peer
    documents.tsv       id, tab, body, as PostgreSQL's COPY reads it
    batches.jsonl       documents.putMany, 500 documents a request
    single.jsonl        documents.put, the first 20,000
    QUESTION.jsonl      2,000 Kura requests a question
    QUESTION-NN.sql     64 scripts of pgbench a question
    QUESTION.tsv        the same questions' parameters, for the SQLite peer

    Returns a function that writes patch.jsonl anew, with other values for the same documents: a run has to change what the run
    before has left.
    """
    base = records()
    countries = sorted({record["code"].split("-")[0] for record in base if "code" in record})
    # Plain words, so that three tokenizers see them alike.
    words = sorted({w.lower() for r in base for w in r["name"].split() if w.isascii() and w.isalpha() and 4 <= len(w) <= 12})
    with (directory / "documents.ndjson").open("w") as lines, (directory / "documents.tsv").open("w") as rows, \
            (directory / "batches.jsonl").open("w") as batches, (directory / "single.jsonl").open("w") as single:
        batch = []
        for number, (name, body) in enumerate(documents(count, base, countries, words)):
            # The body is JSON already: requests are put together around it.
            batch.append(f'{{"id":"{name}","value":{body}}}')
            lines.write(batch[-1] + "\n")
            rows.write(name + "\t" + body.replace("\\", "\\\\") + "\n")
            if len(batch) == 500 or number == count - 1:
                whole = request("documents.putMany", collection="cards", documents=[])
                batches.write(whole.replace("[]", f"[{','.join(batch)}]"))
                batch.clear()
            if number < 20_000:
                whole = request("documents.put", collection="single", id=name, value=0)
                single.write(whole.replace('"value":0', f'"value":{body}'))

    askers = {question: Asker(count, countries, words, question) for question in QUESTIONS}
    for question, asker in askers.items():
        asked = [asker.make(place) for place in range(2000)]
        (directory / f"{question}.jsonl").write_text("".join(line for line, _, _ in asked))
        (directory / f"{question}.tsv").write_text("".join("\t".join(map(str, parameters)) + "\n" for _, _, parameters in asked))
        for number, (_, sql, _) in enumerate(asked[:64]):
            (directory / f"{question}-{number:02}.sql").write_text(sql)

    def patch_anew():
        (directory / "patch.jsonl").write_text("".join(askers["patch"].patch(place)[0] for place in range(2000)))

    return patch_anew

"""Documents of real shape, and the questions that are asked about them, for Kura, PostgreSQL and SQLite alike.

usage: documents.py COUNT DIRECTORY

A document is a record of Debian's iso-codes (languages and subdivisions, over and over) with an id of its own and members that vary:
about 500 bytes of JSON. Everything follows from a fixed seed, so that the three get the same. Writes to DIRECTORY:

  documents.ndjson    {"id":…,"value":…} a line, for documents.import and the SQLite peer
  documents.tsv       id, tab, body, as PostgreSQL's COPY reads it
  batches.jsonl       documents.putMany, 500 documents a request
  single.jsonl        documents.put, the first 20,000
  QUESTION.jsonl      2,000 Kura requests a question: find count sort patch search; patch-again.jsonl: with other values
  QUESTION-NN.sql     64 scripts of pgbench a question
  QUESTION.tsv        the same questions' parameters, for the SQLite peer
"""

import json
import random
import sys
from pathlib import Path

CODES = Path("/usr/share/iso-codes/json")
QUESTIONS = ("find", "count", "sort", "patch", "search")


def records():
    languages = json.loads((CODES / "iso_639-3.json").read_text())["639-3"]
    subdivisions = json.loads((CODES / "iso_3166-2.json").read_text())["3166-2"]
    return [dict(record, source="639-3") for record in languages] + [dict(record, source="3166-2") for record in subdivisions]


def identifier(number):
    return f"card-{number:08}"


def documents(count, base, countries, words):
    dice = random.Random(20_240_501)
    for number in range(count):
        value = dict(base[number % len(base)])
        value["serial"] = number
        value["country"] = dice.choice(countries)
        value["population"] = dice.randrange(10_000_000)
        value["updated"] = f"20{dice.randrange(10, 25)}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
        value["tags"] = dice.sample(words, 3)
        note = []
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) + 10
        while size < 490:
            word = dice.choice(words)
            size += len(word.encode()) + 1
            note.append(word)
        value["note"] = " ".join(note)
        yield identifier(number), json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def call(method, **parameters):
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": f"documents.{method}", "params": dict(collection="cards", **parameters)},
        ensure_ascii=False, separators=(",", ":"))


def requests(question, dice, count, countries, words, place):
    """One request of Kura, the same as SQL for pgbench, and its parameters for SQLite."""
    if question == "find":
        country, least = dice.choice(countries), dice.randrange(9_000_000)
        return (
            call("find", where={"country": country, "population": {"$gte": least}}, sort=["country", "population"], limit=20),
            "\\set least random(0, 9000000)\n"
            "SELECT id, body FROM cards WHERE body->>'country' = '%s' AND (body->>'population')::int >= :least "
            "ORDER BY body->>'country', (body->>'population')::int LIMIT 20;\n" % country, (country, least))
    if question == "count":
        country = dice.choice(countries)
        return (
            call("count", where={"country": country}),
            f"SELECT count(*) FROM cards WHERE body->>'country' = '{country}';\n", (country,))
    if question == "sort":
        least = dice.randrange(1000, 10_000_000)
        return (
            call("find", where={"population": {"$lte": least}}, sort=[{"population": "desc"}, {"name": "desc"}], limit=20),
            "\\set least random(1000, 10000000)\n"
            "SELECT id, body FROM cards WHERE (body->>'population')::int <= :least "
            "ORDER BY (body->>'population')::int DESC, body->>'name' DESC LIMIT 20;\n", (least,))
    if question == "search":
        word = dice.choice(words)
        return (
            call("search", query=word, limit=20, snippetWords=0),
            "SELECT id, body FROM cards WHERE words @@ to_tsquery('simple', '%s') "
            "ORDER BY ts_rank(words, to_tsquery('simple', '%s')) DESC LIMIT 20;\n" % (word, word), (word,))
    # 1,000 documents, twice each: whoever begins again with the first question finds another value in its document.
    number, population = dice.sequence[place % 1000] % count, dice.randrange(10_000_000)
    return (
        call("patch", id=identifier(number), mergePatch={"population": population, "serial": dice.randrange(1 << 30)}),
        f"\\set n random(0, {count - 1})\n\\set p random(0, 9999999)\n\\set s random(0, 1073741823)\n"
        "UPDATE cards SET body = body || jsonb_build_object('population', :p::int, 'serial', :s::int) "
        "WHERE id = 'card-' || lpad((:n)::text, 8, '0');\n", (identifier(number), population, dice.randrange(1 << 30)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    count, directory = int(sys.argv[1]), Path(sys.argv[2])
    base = records()
    countries = sorted({record["code"].split("-")[0] for record in base if "code" in record})
    # Plain words, so that three tokenizers see them alike.
    words = sorted({w.lower() for r in base for w in r["name"].split() if w.isascii() and w.isalpha() and 4 <= len(w) <= 12})

    with (directory / "documents.ndjson").open("w") as lines, (directory / "documents.tsv").open("w") as rows, \
            (directory / "batches.jsonl").open("w") as batches, (directory / "single.jsonl").open("w") as single:
        batch = []

        def send():
            if batch:
                batches.write(
                    '{"jsonrpc":"2.0","id":1,"method":"documents.putMany","params":{"collection":"cards","documents":['
                    + ",".join(batch) + "]}}\n")
                batch.clear()

        for number, (name, body) in enumerate(documents(count, base, countries, words)):
            document = f'{{"id":"{name}","value":{body}}}'
            lines.write(document + "\n")
            rows.write(name + "\t" + body.replace("\\", "\\\\") + "\n")
            batch.append(document)
            if len(batch) == 500:
                send()
            if number < 20_000:
                single.write(
                    f'{{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{{"collection":"single","id":"{name}","value":{body}}}}}\n')
        send()

    for question in QUESTIONS:
        dice = random.Random(question)
        dice.sequence = dice.sample(range(max(count, 1000)), 1000)
        asked = [requests(question, dice, count, countries, words, place) for place in range(2000)]
        (directory / f"{question}.jsonl").write_text("".join(line + "\n" for line, _, _ in asked))
        if question == "patch":
            # Other values for the same documents, so that a run changes what the run before has left.
            again = [requests(question, dice, count, countries, words, place) for place in range(2000)]
            (directory / "patch-again.jsonl").write_text("".join(line + "\n" for line, _, _ in again))
        (directory / f"{question}.tsv").write_text("".join("\t".join(map(str, p)) + "\n" for _, _, p in asked))
        for number, (_, sql, _) in enumerate(asked[:64]):
            (directory / f"{question}-{number:02}.sql").write_text(sql)


main()

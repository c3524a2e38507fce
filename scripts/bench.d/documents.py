"""The row `documents`: documents of real shape beside PostgreSQL's jsonb and SQLite in the same process; and the row `scan`."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import questions
from core import in_turns, median, quantile, seconds_of, size_of, thousands
from programs import kura_bench, run, Failed

INDEXES = [{"name": "byCountry", "fields": ["country", "population"]}, {"name": "byPopulation", "fields": ["population", "name"]}]
POSTGRES_CARDS = (
    "CREATE INDEX by_country ON cards((body->>'country'), ((body->>'population')::int))",
    "CREATE INDEX by_population ON cards(((body->>'population')::int), (body->>'name'))", "VACUUM ANALYZE cards", "CHECKPOINT")
# A column of tsvectors, so that ranking need not make them anew for each document that matches.
POSTGRES_WORDS = (
    "ALTER TABLE cards ADD COLUMN words tsvector GENERATED ALWAYS AS "
    "(to_tsvector('simple', (body->>'name') || ' ' || coalesce(body->>'note', ''))) STORED",
    "CREATE INDEX by_words ON cards USING gin(words)", "VACUUM ANALYZE cards", "CHECKPOINT")
SQLITE_INDEXES = (
    "CREATE INDEX by_country ON cards(body->>'country', body->>'population');"
    "CREATE INDEX by_population ON cards(body->>'population', body->>'name')")
# FTS5, without a copy of the text.
SQLITE_WORDS = (
    "CREATE VIRTUAL TABLE words USING fts5(name, note, content='', tokenize='unicode61 remove_diacritics 2');"
    "INSERT INTO words(rowid, name, note) SELECT row, body->>'name', body->>'note' FROM cards")
SCAN = questions.request("documents.count", collection="cards", where={"serial": {"$mod": [7, 3]}}, allowScan=True, timeoutMs=60_000)


class Kura:
    """The daemon, and a directory with the documents and the questions."""

    def __init__(self, bench):
        self.place = bench.work / "set"
        self.place.mkdir(0o755)
        self.patch_anew = questions.write(bench.documents, self.place)
        # PostgreSQL's user reads them.
        run("chmod", "-R", "a+rX", self.place)
        # As much memory as PostgreSQL has: profile large caches 512 MiB of documents.
        self.daemon = bench.kurad("--profile", "large")

    def replay(self, name, *options):
        return kura_bench("replay", "--target", self.daemon.target, "--requests", self.place / f"{name}.jsonl", *options)

    def load(self):
        """The seconds that all documents took, 500 a request."""
        return self.replay("batches", "--connections", 2, "--once")["seconds"]

    def configure(self, **what):
        """The seconds until the collection's indexes are ready."""
        with self.daemon.connect(600) as connection:
            return seconds_of(connection.call_all, [
                ("documents.configure", {"collection": "cards", **what}),
                ("documents.describe", {"collection": "cards", "waitMs": 600_000})])

    def ask(self, question, connections, seconds):
        """{opsPerSecond, p50Us, p99Us, …}. A patch that changes nothing would be no write: each has to raise the revision."""
        if question == "patch":
            self.patch_anew()
        before = self.daemon.call("storage.status")["rev"]
        found = self.replay(question, "--connections", connections, "--seconds", seconds)
        # What was under way at the end is not counted as an operation.
        risen = self.daemon.call("storage.status")["rev"] - before
        if question == "patch" and not found["operations"] <= risen <= found["operations"] + connections:
            raise Failed(f"VOID: the revision rose by {risen} for {found['operations']} patches")
        return found


def ask_postgres(server, logs, scripts, clients, seconds):
    """The same, from pgbench's log of every transaction."""
    for log in logs.iterdir():
        log.unlink()
    rate = server.bench(clients, seconds, scripts, "--log", f"--log-prefix={logs}/log")
    times = [int(row.split()[2]) for log in logs.iterdir() for row in log.read_text().splitlines()]
    return {"opsPerSecond": rate, "p50Us": quantile(times, 0.5), "p99Us": quantile(times, 0.99)}


def rate_and_times(found):
    """Medians over the rounds."""
    return (f"{thousands(median(found, 'opsPerSecond'))}/s, p50 {median(found, 'p50Us'):.0f} µs, "
            f"p99 {median(found, 'p99Us'):.0f} µs")


def documents(bench):
    """Loading, finding, counting, sorting, patching and searching documents, beside PostgreSQL and SQLite in the same process."""
    kura, sqlite = Kura(bench), bench.sqlite()
    place = kura.place
    server = bench.postgres("-c shared_buffers=512MB")
    logs = bench.work / "pgbench"
    logs.mkdir()
    logs.chmod(0o777)

    one, many = kura.replay("single", "--connections", 1, "--once")["opsPerSecond"], bench.documents / kura.load()
    indexed = kura.configure(indexes=INDEXES)
    loaded = sqlite("load", place / "documents.ndjson", 5000)
    for what, ours, theirs in [
            (f"load of {thousands(bench.documents)} documents, 500 a request, 2 connections", many, loaded["batchPerSecond"]),
            ("load one by one, 1 connection, each durable", one, loaded["singlePerSecond"])]:
        bench.against(what, ours, "SQLite", theirs, ours / theirs)
    bench.record("two indexes, built beside the service", f"{indexed:.3f} s",
                 f"SQLite {sqlite('execute', SQLITE_INDEXES)['seconds']} s, stopped")
    server.execute("CREATE TABLE cards(id text PRIMARY KEY, body jsonb NOT NULL)",
                   rf"\copy cards FROM '{place}/documents.tsv'", *POSTGRES_CARDS)

    for question, direct_sql in questions.QUESTIONS.items():
        # Last, so that no other question pays for keeping it up.
        if question == "search":
            ours, theirs = kura.configure(searchFields=["name", "note"]), seconds_of(server.execute, *POSTGRES_WORDS)
            bench.record(
                "full text index of two fields, built beside the service", f"{ours:.3f} s",
                f"PostgreSQL {theirs:.2f} s, SQLite {sqlite('execute', SQLITE_WORDS)['seconds']} s, stopped")
        scripts = sorted(place.glob(f"{question}-[0-9]*.sql"))
        asked = [step for connections in (1, 8) for step in (
            partial(kura.ask, question, connections, bench.seconds),
            partial(ask_postgres, server, logs, scripts, connections, bench.seconds))]
        ours_of_1, postgres_of_1, ours_of_8, postgres_of_8, direct = in_turns(
            bench.rounds, *asked, partial(sqlite, "ask", direct_sql, place / f"{question}.tsv", bench.seconds))
        at_least = 2 if question == "find" else None
        for what, ours, peer, theirs, bound in [
                ("1 connections", ours_of_1, "PostgreSQL", postgres_of_1, at_least),
                ("8 connections", ours_of_8, "PostgreSQL", postgres_of_8, at_least),
                ("1 connection", ours_of_1, "SQLite in process", direct, None)]:
            ratio = median(ours, "opsPerSecond") / median(theirs, "opsPerSecond")
            bench.record(f"{question}, {what}", rate_and_times(ours), f"{peer} {rate_and_times(theirs)}", f"{ratio:.2f}", ratio, bound)

    kura.daemon.stop()
    sizes = (size_of(f"{kura.daemon.data}/durable"), int(server.execute("SELECT pg_total_relation_size('cards')")),
             size_of(bench.work / "direct.db"))
    ours, postgres, direct = (f"{size / bench.documents:.0f} B" for size in sizes)
    bench.record("file size a document, indexes and full text included", ours, f"PostgreSQL {postgres}, SQLite {direct}")


def scan(bench):
    """Point reads at a fixed rate, alone and beside a scan of all documents, in turn. Loading takes longer than measuring."""
    kura = Kura(bench)
    kura.load()
    kura.configure(indexes=INDEXES)
    kura.daemon.stop()
    target = kura.daemon.start().target
    (kura.place / "scan.jsonl").write_text(SCAN)
    kura_bench("--target", target, "--room", "documents", "--preload", "--requests", 1)
    time.sleep(1)

    def alone():
        return kura_bench(
            "latency", "--target", target, "--room", "documents", "--mix", "read", "--connections", 8, "--rate", 5000,
            "--seconds", bench.seconds)["p99Us"]

    def beside_scan():
        with ThreadPoolExecutor() as others:
            scans = others.submit(kura.replay, "scan", "--connections", 1, "--seconds", bench.seconds + 1)
            time.sleep(0.3)
            return alone(), scans.result()["p50Us"] / 1000

    idle, found = in_turns(bench.rounds, alone, beside_scan)
    busy, scan_ms = zip(*found)
    ratio = median(busy) / median(idle)
    bench.record(
        f"p99 of a point read (8 connections, 5,000/s) while {thousands(bench.documents)} documents are scanned "
        f"({scan_ms[-1]:.0f} ms a scan)",
        f"{median(busy)} µs", f"idle {median(idle)} µs", f"{ratio:.2f}", ratio, at_most=2)

"""The row `documents`: documents of real shape beside PostgreSQL's jsonb and SQLite in the same process; and the row `scan`."""

import time
from concurrent.futures import ThreadPoolExecutor

import questions
from core import median, quantile, size_of, thousands
from programs import kura_bench, run, Failed

INDEXES = [
    {"name": "byCountry", "fields": ["country", "population"]}, {"name": "byPopulation", "fields": ["population", "name"]}]
# A column of tsvectors, so that ranking need not make them anew for each document that matches.
POSTGRES_WORDS = (
    "ALTER TABLE cards ADD COLUMN words tsvector GENERATED ALWAYS AS "
    "(to_tsvector('simple', (body->>'name') || ' ' || coalesce(body->>'note', ''))) STORED",
    "CREATE INDEX by_words ON cards USING gin(words)", "VACUUM ANALYZE cards", "CHECKPOINT")
SCAN = questions.request(
    "documents.count", collection="cards", where={"serial": {"$mod": [7, 3]}}, allowScan=True, timeoutMs=60_000)


def seconds_of(step, *arguments):
    begun = time.monotonic()
    step(*arguments)
    return time.monotonic() - begun


def replay(daemon, requests, *options):
    return kura_bench("replay", "--target", daemon.target, "--requests", requests, *options)


class Kura:
    def __init__(self, bench):
        self.bench = bench
        self.place, self.patch_anew = documents_in(bench)
        # As much memory as PostgreSQL has: profile large caches 512 MiB of documents.
        self.daemon = bench.kurad("--profile", "large")

    def configure(self, **what):
        """The seconds until the collection's indexes are ready."""
        with self.daemon.connect(600) as connection:
            return seconds_of(lambda: connection.call_all([
                ("documents.configure", {"collection": "cards", **what}),
                ("documents.describe", {"collection": "cards", "waitMs": 600_000})]))

    def revision(self):
        with self.daemon.connect() as connection:
            return connection.call("storage.status")["rev"]

    def ask(self, question, connections):
        """{opsPerSecond, p50Us, p99Us, …}. A patch that changes nothing would be no write: each has to raise the revision."""
        if question == "patch":
            self.patch_anew()
        before = self.revision()
        requests = self.place / f"{question}.jsonl"
        found = replay(self.daemon, requests, "--connections", connections, "--seconds", self.bench.seconds)
        # What was under way at the end is not counted as an operation.
        risen = self.revision() - before
        if question == "patch" and not found["operations"] <= risen <= found["operations"] + connections:
            raise Failed(f"VOID: the revision rose by {risen} for {found['operations']} patches")
        return found


def ask_postgres(bench, server, place, question, clients):
    """The same, from pgbench's log of every transaction."""
    logs = bench.work / "pgbench"
    logs.mkdir(exist_ok=True)
    logs.chmod(0o777)
    for log in logs.iterdir():
        log.unlink()
    rate = server.bench(
        clients, bench.seconds, sorted(place.glob(f"{question}-[0-9]*.sql")), "--log", f"--log-prefix={logs}/log", place=logs)
    times = [int(row.split()[2]) for log in logs.iterdir() for row in log.read_text().splitlines()]
    return {"opsPerSecond": rate, "p50Us": quantile(times, 0.5), "p99Us": quantile(times, 0.99)}


def load_postgres(server, place):
    server.execute(
        "CREATE TABLE cards(id text PRIMARY KEY, body jsonb NOT NULL)", rf"\copy cards FROM '{place}/documents.tsv'",
        "CREATE INDEX by_country ON cards((body->>'country'), ((body->>'population')::int))",
        "CREATE INDEX by_population ON cards(((body->>'population')::int), (body->>'name'))",
        "VACUUM ANALYZE cards", "CHECKPOINT")


def documents_in(bench):
    """A directory with the documents and the questions, and what writes other patches."""
    place = bench.work / "set"
    place.mkdir(0o755)
    patch_anew = questions.write(bench.documents, place)
    # PostgreSQL's user reads them.
    run("chmod", "-R", "a+rX", place)
    return place, patch_anew


def rate_and_times(found):
    """Medians over the rounds."""
    return (f"{thousands(median(found, 'opsPerSecond'))}/s, p50 {median(found, 'p50Us'):.0f} µs, "
            f"p99 {median(found, 'p99Us'):.0f} µs")


def compare(bench, what, ours, peer, theirs, at_least=None):
    ratio = median(ours, "opsPerSecond") / median(theirs, "opsPerSecond")
    bench.record(what, rate_and_times(ours), f"{peer} {rate_and_times(theirs)}", f"{ratio:.2f}", ratio, at_least)


def documents(bench):
    """Loading, finding, counting, sorting, patching and searching documents, beside PostgreSQL and SQLite in the same process."""
    kura = Kura(bench)
    place = kura.place
    server = bench.postgres("-c shared_buffers=512MB")
    sqlite = bench.sqlite()
    one = replay(kura.daemon, place / "single.jsonl", "--connections", 1, "--once")["opsPerSecond"]
    many = bench.documents / replay(kura.daemon, place / "batches.jsonl", "--connections", 2, "--once")["seconds"]
    indexed = kura.configure(indexes=INDEXES)
    loaded = sqlite("load", place / "documents.ndjson", 5000)
    for what, ours, theirs in [
            (f"load of {thousands(bench.documents)} documents, 500 a request, 2 connections", many, loaded["batchPerSecond"]),
            ("load one by one, 1 connection, each durable", one, loaded["singlePerSecond"])]:
        bench.record(what, f"{thousands(ours)}/s", f"SQLite {thousands(theirs)}/s", f"{ours / theirs:.2f}")
    bench.record("two indexes, built beside the service", f"{indexed:.3f} s", f"SQLite {loaded['indexSeconds']} s, stopped")
    load_postgres(server, place)

    for question in questions.QUESTIONS:
        # Last, so that no other question pays for keeping it up.
        if question == "search":
            ours, theirs = kura.configure(searchFields=["name", "note"]), seconds_of(server.execute, *POSTGRES_WORDS)
            bench.record(
                "full text index of two fields, built beside the service", f"{ours:.3f} s",
                f"PostgreSQL {theirs:.2f} s, SQLite {sqlite('words')['seconds']} s, stopped")
        found = {"kura": {1: [], 8: []}, "postgres": {1: [], 8: []}, "sqlite": []}
        for _ in range(bench.rounds):
            for connections in (1, 8):
                found["kura"][connections].append(kura.ask(question, connections))
                found["postgres"][connections].append(ask_postgres(bench, server, place, question, connections))
            found["sqlite"].append(sqlite(question, place / f"{question}.tsv", bench.seconds))
        for connections in (1, 8):
            compare(
                bench, f"{question}, {connections} connections", found["kura"][connections], "PostgreSQL",
                found["postgres"][connections], 2 if question == "find" else None)
        compare(bench, f"{question}, 1 connection", found["kura"][1], "SQLite in process", found["sqlite"])

    kura.daemon.stop()
    sizes = [size_of(bench.work / "kura" / "durable"), int(server.execute("SELECT pg_total_relation_size('cards')")),
             size_of(bench.work / "direct.db")]
    ours, postgres, direct = (f"{size / bench.documents:.0f} B" for size in sizes)
    bench.record("file size a document, indexes and full text included", ours, f"PostgreSQL {postgres}, SQLite {direct}")


def scan(bench):
    """Point reads at a fixed rate, alone and beside a scan of all documents, in turn. Loading takes longer than measuring."""
    kura = Kura(bench)
    replay(kura.daemon, kura.place / "batches.jsonl", "--connections", 2, "--once")
    kura.configure(indexes=INDEXES)
    kura.daemon.stop()
    target = kura.daemon.start().target
    requests = bench.work / "scan.jsonl"
    requests.write_text(SCAN)
    kura_bench("--target", target, "--room", "documents", "--preload", "--requests", 1)
    time.sleep(1)

    def read():
        return kura_bench(
            "latency", "--target", target, "--room", "documents", "--mix", "read", "--connections", 8, "--rate", 5000,
            "--seconds", bench.seconds)["p99Us"]

    idle, busy = [], []
    for _ in range(bench.rounds):
        idle.append(read())
        with ThreadPoolExecutor() as others:
            scans = others.submit(replay, kura.daemon, requests, "--connections", 1, "--seconds", bench.seconds + 1)
            time.sleep(0.3)
            busy.append(read())
        scan_ms = scans.result()["p50Us"] / 1000
    ratio = median(busy) / median(idle)
    bench.record(
        f"p99 of a point read (8 connections, 5,000/s) while {thousands(bench.documents)} documents are scanned "
        f"({scan_ms:.0f} ms a scan)",
        f"{median(busy)} µs", f"idle {median(idle)} µs", f"{ratio:.2f}", ratio, at_most=2)

# The row `documents`: documents of real shape beside PostgreSQL's jsonb and SQLite in the same process. Sourced by scripts/bench.
#
# Needs what rows.sh needs, and $root, $work, $documents (how many), $sqlite_documents (program).

questions=(find count sort patch)

# The collection's indexes, made when it is loaded, as PostgreSQL's and SQLite's are. Prints the seconds until they are ready.
kura_rooms() {
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"documents.configure","params":{"collection":"cards","indexes":[{"name":"byCountry","fields":["country","population"]},{"name":"byPopulation","fields":["population","name"]}]}}' \
        '{"jsonrpc":"2.0","id":1,"method":"documents.describe","params":{"collection":"cards","waitMs":60000}}' \
        >"$data/configure.jsonl"
    "$bench" replay --target "$kura_target" --requests "$data/configure.jsonl" --once --json | jq -r .seconds
}

# kura_asks QUESTION CONNECTIONS: {opsPerSecond, p50Us, p99Us}. A patch that changes nothing would be no write: the revision has to rise by
# one for each.
kura_asks() {
    local before risen json requests=$set/$1.jsonl
    if [ "$1" = patch ]; then
        [ ! -e "$data/again" ] || requests=$set/patch-again.jsonl
        if [ -e "$data/again" ]; then rm "$data/again"; else touch "$data/again"; fi
    fi
    before=$(kura_revision)
    json=$("$bench" replay --target "$kura_target" --requests "$requests" --connections "$2" --seconds "$seconds" --json)
    risen=$(($(kura_revision) - before))
    # What was under way at the end is not counted as an operation.
    if [ "$1" = patch ] && { [ "$risen" -lt "$(jq .operations <<<"$json")" ] || [ "$risen" -gt "$(($(jq .operations <<<"$json") + $2))" ]; }; then
        echo "VOID: the revision rose by $risen for $(jq .operations <<<"$json") patches" >&2
        return 1
    fi
    echo "$json"
}

kura_revision() {
    echo '{"jsonrpc":"2.0","id":1,"method":"storage.status"}' | socat -t 60 - "UNIX-CONNECT:$sockets/k.sock" | jq .result.rev
}

# postgres_asks QUESTION CLIENTS: the same, from pgbench's log of every transaction.
postgres_asks() {
    local scripts=() script logs=$data/pgbench
    for script in "$set/$1"-*.sql; do scripts+=(-f "$script"); done
    mkdir -p "$logs" && chmod 777 "$logs" && rm -f "$logs"/*
    (
        cd "$logs"
        as_postgres "$postgres_bin/pgbench" -h "$postgres_socket" -n -M prepared -c "$2" -j "$(($2 > 1 ? 2 : 1))" -T "${seconds%.*}" \
            --log --log-prefix="$logs/log" "${scripts[@]}" postgres 2>/dev/null
    ) | awk '/^tps/ { printf "%s ", $3 }' >"$logs/rate"
    sort -n -k 3,3 "$logs"/log* | awk -v rate="$(cat "$logs/rate")" '
        { time[NR] = $3 }
        END { printf "{\"opsPerSecond\":%s,\"p50Us\":%s,\"p99Us\":%s}\n", rate + 0, time[int((NR + 1) / 2)], time[int(NR * 0.99) + 1] }'
}

sqlite_asks() { "$sqlite_documents" "$data/direct.db" "$1" "$set/$1.tsv" "$seconds"; }

# asked WHAT TARGET KURA PEER-NAME PEER: files with a JSON object a round each.
asked() {
    local ratio
    ratio=$(divide "$(jq -s 'map(.opsPerSecond) | sort | .[length / 2 | floor]' "$3")" "$(jq -s 'map(.opsPerSecond) | sort | .[length / 2 | floor]' "$5")")
    record "$1" "$(rate_and_times "$3")" "$4 $(rate_and_times "$5")" "$ratio" "$([ -z "$2" ] && echo - || echo "≥ $2")" \
        "$([ -z "$2" ] && echo - || holds "$ratio" at-least "$2")"
}

# rate_and_times FILE: medians over the rounds.
rate_and_times() {
    local rate
    rate=$(jq -s 'map(.opsPerSecond) | sort | .[length / 2 | floor]' "$1")
    echo "$(thousands "$rate")/s, p50 $(jq -s 'map(.p50Us) | sort | .[length / 2 | floor] | round' "$1") µs," \
        "p99 $(jq -s 'map(.p99Us) | sort | .[length / 2 | floor] | round' "$1") µs"
}

# The full text index of what is there, in each. Prints the seconds.
kura_words() {
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"documents.configure","params":{"collection":"cards","searchFields":["name","note"]}}' \
        '{"jsonrpc":"2.0","id":1,"method":"documents.describe","params":{"collection":"cards","waitMs":600000}}' \
        >"$data/words.jsonl"
    "$bench" replay --target "$kura_target" --requests "$data/words.jsonl" --once --json | jq -r .seconds
}

# A column of tsvectors, so that ranking need not make them anew for each document that matches.
postgres_words() {
    local start=$EPOCHREALTIME
    (
        cd "$postgres_data"
        as_postgres "$postgres_bin/psql" -h "$postgres_socket" -d postgres -q -v ON_ERROR_STOP=1 <<SQL
ALTER TABLE cards ADD COLUMN words tsvector
    GENERATED ALWAYS AS (to_tsvector('simple', (body->>'name') || ' ' || coalesce(body->>'note', ''))) STORED;
CREATE INDEX by_words ON cards USING gin(words);
VACUUM ANALYZE cards;
CHECKPOINT;
SQL
    )
    divide "$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" 1
}

load_postgres() {
    (
        cd "$postgres_data"
        as_postgres "$postgres_bin/psql" -h "$postgres_socket" -d postgres -q -v ON_ERROR_STOP=1 <<SQL
CREATE TABLE cards(id text PRIMARY KEY, body jsonb NOT NULL);
\copy cards FROM '$set/documents.tsv'
CREATE INDEX by_country ON cards((body->>'country'), ((body->>'population')::int));
CREATE INDEX by_population ON cards(((body->>'population')::int), (body->>'name'));
VACUUM ANALYZE cards;
CHECKPOINT;
SQL
    )
}

# Point reads at a fixed rate, alone and beside a scan of all documents, in turn: the p99 of each.
beside_a_scan() {
    local window json idle=() busy=() scans
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"documents.count","params":{"collection":"cards","where":{"serial":{"$mod":[7,3]}},"allowScan":true,"timeoutMs":60000}}' \
        >"$data/scan.jsonl"
    preload documents
    local read=("$bench" latency --target "$kura_target" --room documents --mix read --connections 8 --rate 5000 --seconds "$seconds" --json)
    for window in $(seq "$rounds"); do
        idle+=("$("${read[@]}" | jq .p99Us)")
        "$bench" replay --target "$kura_target" --requests "$data/scan.jsonl" --connections 1 --seconds "$((${seconds%.*} + 1))" --json \
            >"$data/scan.json" &
        scans=$!
        sleep 0.3
        busy+=("$("${read[@]}" | jq .p99Us)")
        wait "$scans"
    done
    local ratio
    ratio=$(divide "$(printf '%s\n' "${busy[@]}" | median)" "$(printf '%s\n' "${idle[@]}" | median)")
    record "p99 of a point read (8 connections, 5,000/s) while $(thousands "$documents") documents are scanned ($(jq '.p50Us / 1000 | round' "$data/scan.json") ms a scan)" \
        "$(printf '%s\n' "${busy[@]}" | median) µs" "idle $(printf '%s\n' "${idle[@]}" | median) µs" "$ratio" "≤ 2" "$(holds "$ratio" at-most 2)"
}

row_documents() {
    local set=$data/set question connections round json size
    mkdir -m 755 "$set"
    python3 "$root/scripts/peers/documents.py" "$documents" "$set"
    chmod -R a+rX "$set"
    # As much memory for the one as for the other: profile large caches 512 MiB of documents.
    postgres_options="-c shared_buffers=512MB" start_postgres
    start_kurad kura "" --profile large

    json=$("$bench" replay --target "$kura_target" --requests "$set/single.jsonl" --connections 1 --once --json)
    local one
    one=$(jq .opsPerSecond <<<"$json")
    json=$("$bench" replay --target "$kura_target" --requests "$set/batches.jsonl" --connections 2 --once --json)
    local many
    many=$(divide "$documents" "$(jq .seconds <<<"$json")" 0)
    local seconds_of_indexes
    seconds_of_indexes=$(kura_rooms)
    json=$("$sqlite_documents" "$data/direct.db" load "$set/documents.ndjson" 5000)
    record "load of $(thousands "$documents") documents, 500 a request, 2 connections" "$(thousands "$many")/s" \
        "SQLite $(thousands "$(jq .batchPerSecond <<<"$json")")/s" "$(divide "$many" "$(jq .batchPerSecond <<<"$json")")" - -
    record "load one by one, 1 connection, each durable" "$(thousands "$one")/s" \
        "SQLite $(thousands "$(jq .singlePerSecond <<<"$json")")/s" "$(divide "$one" "$(jq .singlePerSecond <<<"$json")")" - -
    record "two indexes, built beside the service" "$seconds_of_indexes s" \
        "SQLite $(jq '.indexSeconds' <<<"$json") s, stopped" - - -
    load_postgres

    for question in "${questions[@]}" search; do
        # Last, so that no other question pays for keeping it up.
        if [ "$question" = search ]; then
            record "full text index of two fields, built beside the service" "$(kura_words) s" \
                "PostgreSQL $(postgres_words) s, SQLite $("$sqlite_documents" "$data/direct.db" words) s, stopped" - - -
        fi
        rm -f "$data"/*.rounds
        for round in $(seq "$rounds"); do
            for connections in 1 8; do
                kura_asks "$question" $connections >>"$data/kura-$connections.rounds"
                postgres_asks "$question" $connections >>"$data/postgres-$connections.rounds"
            done
            sqlite_asks "$question" >>"$data/sqlite.rounds"
        done
        for connections in 1 8; do
            asked "$question, $connections connections" "$([ "$question" = find ] && echo 2 || true)" \
                "$data/kura-$connections.rounds" PostgreSQL "$data/postgres-$connections.rounds"
        done
        asked "$question, 1 connection" "" "$data/kura-1.rounds" "SQLite in process" "$data/sqlite.rounds"
    done

    stop_kurad
    size=$(du -sb "$data/kura/durable" | cut -f 1)
    record "file size a document, indexes and full text included" "$(divide "$size" "$documents" 0) B" \
        "PostgreSQL $(divide "$(cd / && as_postgres "$postgres_bin/psql" -h "$postgres_socket" -d postgres -Atc "SELECT pg_total_relation_size('cards')")" "$documents" 0) B, SQLite $(divide "$(stat -c %s "$data/direct.db")" "$documents" 0) B" \
        - - -
    stop_postgres
}

# Without a peer, for whoever wants this one figure: loading takes longer than measuring.
row_scan() {
    local set=$data/set
    mkdir -m 755 "$set"
    python3 "$root/scripts/peers/documents.py" "$documents" "$set"
    start_kurad kura "" --profile large
    "$bench" replay --target "$kura_target" --requests "$set/batches.jsonl" --connections 2 --once --json >/dev/null
    kura_rooms >/dev/null
    stop_kurad
    start_kurad kura "" --profile large
    beside_a_scan
}

# Starting and stopping what is measured. Sourced by scripts/bench; every row has servers of its own.
#
# Needs: $kurad $bench (programs), $data (a directory on the disk under test), $sockets (a directory with a short path).

kura_target="kura:$sockets/k.sock"
redis_target="redis:$sockets/r.sock"
memcached_target="memcached:$sockets/m.sock"
redis_pid=
memcached_pid=
spawn_pid=
kurad_pid=
postgres_data=

# start_kurad [DIRECTORY [ROOM [OPTION…]]]: sets kurad_pid and first_reply_ms (to a point read in ROOM). The daemon's own log goes to $data/kurad.log.
start_kurad() {
    local directory=$data/${1:-kura} output=$data/spawn.out first=
    mkdir -p -m 700 "$directory"
    : >"$output"
    "$bench" spawn --target "$kura_target" ${2:+--room "$2"} -- \
        "$kurad" --data-dir "$directory" --socket "$sockets/k.sock" "${@:3}" >"$output" 2>>"$data/kurad.log" &
    spawn_pid=$!
    while [ -z "$first" ]; do
        if ! kill -0 "$spawn_pid" 2>/dev/null; then
            echo "kurad did not start: $(tail -n 1 "$data/kurad.log")" >&2
            spawn_pid=
            return 1
        fi
        sleep 0.02
        first=$(grep -m 1 firstReplyMs "$output" || true)
    done
    kurad_pid=$(jq -r .pid <<<"$first")
    first_reply_ms=$(jq -r .firstReplyMs <<<"$first")
}

# stop_kurad [SIGNAL]: ends the daemon and waits; sets kurad_wrote and kurad_wchar, what it wrote in all its life.
# A stop by TERM must be a clean drain: fails unless the daemon exits 0.
stop_kurad() {
    [ -n "$spawn_pid" ] || return 0
    kill "-${1:-TERM}" "$kurad_pid" 2>/dev/null || true
    wait "$spawn_pid" 2>/dev/null || true
    spawn_pid=
    local last
    last=$(tail -n 1 "$data/spawn.out")
    kurad_wrote=$(jq -r '.writeBytes // empty' <<<"$last")
    kurad_wchar=$(jq -r '.wchar // empty' <<<"$last")
    if [ "${1:-TERM}" = TERM ] && [ "$(jq -r .exit <<<"$last")" != 0 ]; then
        echo "kurad did not end cleanly: $last; $(tail -n 1 "$data/kurad.log")" >&2
        return 1
    fi
}

# start_redis plain|durable: without persistence, or with every write synced before its reply.
start_redis() {
    mkdir -p "$data/redis"
    local persistence=(--appendonly no)
    [ "$1" = durable ] && persistence=(--appendonly yes --appendfsync always)
    redis-server --port 0 --unixsocket "$sockets/r.sock" --dir "$data/redis" --save '' "${persistence[@]}" \
        >"$data/redis.log" 2>&1 &
    redis_pid=$!
    local tries=0
    until redis-cli -s "$sockets/r.sock" ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 500 ] || { echo "redis-server did not start" >&2; return 1; }
        sleep 0.02
    done
}

stop_redis() {
    [ -n "$redis_pid" ] || return 0
    kill "$redis_pid" 2>/dev/null || true
    wait "$redis_pid" 2>/dev/null || true
    redis_pid=
    rm -rf "$data/redis"
}

# start_memcached: one worker thread, as Redis and Kura have one loop; 256 MiB.
start_memcached() {
    memcached -s "$sockets/m.sock" -t 1 -m 256 -I 8m -u "$(id -un)" >"$data/memcached.log" 2>&1 &
    memcached_pid=$!
    local tries=0
    until [ -S "$sockets/m.sock" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 500 ] || { echo "memcached did not start" >&2; return 1; }
        sleep 0.02
    done
}

stop_memcached() {
    [ -n "$memcached_pid" ] || return 0
    kill "$memcached_pid" 2>/dev/null || true
    wait "$memcached_pid" 2>/dev/null || true
    memcached_pid=
    rm -f "$sockets/m.sock"
}

# PostgreSQL refuses to run as root: then it runs as the user that its package made.
as_postgres() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# A cluster of its own: Unix socket only, synchronous_commit=on, defaults otherwise; the table preloaded.
start_postgres() {
    postgres_bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    postgres_data=$data/postgres
    # A socket directory of its own: Kura's is nobody else's to write in, and it refuses one that is.
    postgres_socket=$sockets/postgres
    mkdir -p "$postgres_data" "$postgres_socket"
    [ "$(id -u)" = 0 ] && chown postgres "$postgres_data" "$postgres_socket" && chmod 711 "$data"
    (
        cd "$postgres_data"
        as_postgres "$postgres_bin/initdb" -D "$postgres_data" --auth=trust >/dev/null
        as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -w -l "$postgres_data/server.log" \
            -o "-c listen_addresses= -c unix_socket_directories=$postgres_socket -c synchronous_commit=on ${postgres_options:-}" start >/dev/null
        as_postgres "$postgres_bin/psql" -h "$postgres_socket" -d postgres -q -v ON_ERROR_STOP=1 <<'SQL'
CREATE TABLE kv(key text PRIMARY KEY, value text NOT NULL);
INSERT INTO kv SELECT 'key:' || lpad(n::text, 12, '0'), repeat('x', 100) FROM generate_series(0, 99999) n;
VACUUM ANALYZE kv;
CHECKPOINT;
SQL
    )
    # The key's and the counter's digits are random; the rest fills the value up to 100 bytes.
    cat >"$data/upsert.sql" <<'SQL'
\set key random(0, 99999)
\set count random(0, 999999999999)
INSERT INTO kv(key, value) VALUES ('key:' || lpad((:key)::text, 12, '0'), lpad((:count)::text, 12, '0') || repeat('x', 88)) ON CONFLICT (key) DO UPDATE SET value = excluded.value;
SQL
    chmod 644 "$data/upsert.sql"
}

# postgres_writes CLIENTS SECONDS: transactions a second.
postgres_writes() {
    (
        cd "$postgres_data"
        as_postgres "$postgres_bin/pgbench" -h "$postgres_socket" -n -M prepared -c "$1" -j 2 -T "$2" \
            -f "$data/upsert.sql" postgres 2>/dev/null
    ) | awk '/^tps/ { printf "%.0f\n", $3 }'
}

stop_postgres() {
    [ -n "$postgres_data" ] || return 0
    (cd / && as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -m immediate -w stop) >/dev/null 2>&1 || true
    rm -rf "$postgres_data"
    postgres_data=
}

stop_servers() {
    stop_kurad KILL || true
    stop_redis
    stop_memcached
    stop_postgres
}

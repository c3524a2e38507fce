# The rows of design.md's table. Sourced by scripts/bench: one function a row, each run in a subshell of its own.
#
# Needs servers.sh, $bench, $sqlite_direct, $rounds, $seconds (a round), $long (a long row), and `record`:
#   record WHAT KURA PEER RATIO TARGET ok|SHORT|VOID

# holds FIGURE at-least|at-most TARGET: prints ok or SHORT.
holds() {
    awk -v figure="$1" -v rule="$2" -v target="$3" \
        'BEGIN { print ((rule == "at-least" ? figure >= target : figure <= target) ? "ok" : "SHORT") }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
lowest_highest() { sort -n | awk 'NR == 1 { low = $1 } { high = $1 } END { printf "%.2f–%.2f", low, high }'; }
divide() { awk -v a="$1" -v b="$2" -v places="${3:-2}" 'BEGIN { printf "%.*f", places, (b == 0 ? 0 : a / b) }'; }
thousands() { awk -v n="$1" 'BEGIN { if (n >= 1000000) printf "%.2fM", n / 1e6; else if (n >= 10000) printf "%.0fk", n / 1e3; else if (n >= 1000) printf "%.1fk", n / 1e3; else printf "%.0f", n }'; }

# against_redis WHAT TARGET LOAD-OPTIONS…: one line, Kura and Redis in turn.
against_redis() {
    local what=$1 target=$2 json code=0
    shift 2
    json=$("$bench" compare --a "$kura_target" --b "$redis_target" --json "$@") || code=$?
    if [ "$code" != 0 ] && [ "$code" != 3 ]; then
        record "$what" - - - "≥ $target" FAILED
        return 0
    fi
    local ratio verdict
    ratio=$(jq -r .ratio <<<"$json")
    verdict=$(holds "$ratio" at-least "$target")
    [ "$code" = 3 ] && verdict=VOID
    record "$what" "$(thousands "$(jq -r .a.opsPerSecond <<<"$json")")/s" \
        "Redis $(thousands "$(jq -r .b.opsPerSecond <<<"$json")")/s" \
        "$(jq -r '"\(.ratio * 100 | round / 100) (\(.ratioMin * 100 | round / 100)–\(.ratioMax * 100 | round / 100))"' <<<"$json")" \
        "≥ $target" "$verdict"
}

# preload ROOM [KEYS]: every key once into Kura, and into Redis when it runs.
preload() {
    "$bench" --target "$kura_target" --room "$1" --keys "${2:-100000}" --preload --requests 1 >/dev/null
    [ -z "$redis_pid" ] || "$bench" --target "$redis_target" --preload --requests 1 >/dev/null
    sleep 1
}

row_reads() {
    start_kurad
    start_redis plain
    preload settings
    preload documents
    local common=(--rounds "$rounds" --seconds "$seconds" --mix read --settle 0.2) room
    for room in settings documents; do
        if [ "$room" = settings ]; then
            against_redis "point read, 1 connection, $room" 1.0 "${common[@]}" --room $room --connections 1
            against_redis "point read, 8 connections, $room" 1.0 "${common[@]}" --room $room --connections 8
        fi
        against_redis "point read, 64 connections, $room" 1.3 "${common[@]}" --room $room --connections 64
        against_redis "pipelined point read, 8 × 32, $room" 1.5 "${common[@]}" --room $room --connections 8 --depth 32
    done
}

row_writes() {
    start_kurad
    start_redis durable
    preload settings
    preload documents
    local common=(--rounds "$rounds" --seconds "$seconds" --mix write --settle 1) room
    for room in settings documents; do
        if [ "$room" = settings ]; then
            against_redis "durable write, 1 connection, $room" 1.2 "${common[@]}" --room $room --connections 1
            against_redis "durable write, 8 connections, $room" 1.2 "${common[@]}" --room $room --connections 8
        fi
        against_redis "durable write, 64 connections, $room" 1.2 "${common[@]}" --room $room --connections 64
        against_redis "durable write, 8 × 32 pipelined, ${seconds} s burst, $room" 1.3 "${common[@]}" --room $room \
            --connections 8 --depth 32
    done
}

row_sustained() {
    start_kurad
    start_redis durable
    preload settings
    against_redis "durable write, 8 × 32 pipelined, ${long} s sustained, settings" 1.0 --rounds 1 --seconds "$long" \
        --mix write --settle 3 --connections 8 --depth 32
}

# kura_writes LOAD-OPTIONS…: acknowledged writes a second; fails when the run is void.
kura_writes() {
    "$bench" --target "$kura_target" --mix write --json "$@" | jq -r .opsPerSecond
}

# against_other WHAT PEER TARGET KURA-COMMAND PEER-COMMAND: two commands that print a rate, in turn.
against_other() {
    local what=$1 peer=$2 target=$3 ours=() theirs=() ratios=() a b round
    for round in $(seq "$rounds"); do
        sleep 0.5
        a=$(eval "$4")
        sleep 0.5
        b=$(eval "$5")
        ours+=("$a") theirs+=("$b") ratios+=("$(divide "$a" "$b")")
    done
    a=$(printf '%s\n' "${ours[@]}" | median)
    b=$(printf '%s\n' "${theirs[@]}" | median)
    record "$what" "$(thousands "$a")/s" "$peer $(thousands "$b")/s" \
        "$(divide "$a" "$b") ($(printf '%s\n' "${ratios[@]}" | lowest_highest))" "≥ $target" \
        "$(holds "$(divide "$a" "$b" 4)" at-least "$target")"
}

row_processes() {
    start_kurad
    preload settings
    local count
    for count in 8 64; do
        against_other "durable write, $count processes, settings" "SQLite direct" "$([ $count = 8 ] && echo 2.5 || echo 8)" \
            "kura_writes --processes $count --seconds $seconds" \
            "'$sqlite_direct' '$data/direct.db' --processes $count --seconds $seconds | jq -r .perSecond"
    done
}

row_postgres() {
    start_kurad
    start_postgres
    preload settings
    against_other "durable write, 64 connections, settings" "PostgreSQL" 3 \
        "kura_writes --connections 64 --seconds $seconds" "postgres_writes 64 $seconds"
}

row_bytes() {
    # Loaded and folded by one daemon, measured on the next, so that the loading is not counted.
    start_kurad
    preload settings
    stop_kurad
    start_kurad
    local writes sqlite disk passed ratio
    writes=$("$bench" --target "$kura_target" --mix write --connections 64 --seconds "$long" --json | jq .acknowledgedWrites)
    stop_kurad
    # A durable server that wrote nothing was not measured.
    [ "${kurad_wrote:-0}" -gt 0 ] || { echo "no write_bytes of kurad" >&2; return 1; }
    sqlite=$("$sqlite_direct" "$data/direct.db" --processes 8 --seconds "$(divide "$long" 3)" --bytes)
    disk=$(divide "$kurad_wrote" "$writes" 0)
    passed=$(divide "$kurad_wchar" "$writes" 0)
    ratio=$(divide "$(divide "$kurad_wrote" "$writes" 3)" "$(jq .writeBytesPerWrite <<<"$sqlite")" 3)
    record "bytes to disk a durable write, 64 connections, ${long} s and the drain (write_bytes)" "$disk B" \
        "SQLite direct $(jq '.writeBytesPerWrite | round' <<<"$sqlite") B" "$ratio" "≤ 0.15" "$(holds "$ratio" at-most 0.15)"
    ratio=$(divide "$(divide "$kurad_wchar" "$writes" 3)" "$(jq .wcharPerWrite <<<"$sqlite")" 3)
    record "the same, bytes handed to write calls (wchar; replies too where they leave by write)" "$passed B" \
        "SQLite direct $(jq '.wcharPerWrite | round' <<<"$sqlite") B" "$ratio" "-" "-"
}

# stolen: ticks of CPU time that a hypervisor took from this machine so far (0 on bare metal).
stolen() { awk '/^cpu / { print $9; exit }' /proc/stat; }

# Both in turn, each at half of its own saturation: what the machine does to anyone shows in the peer's windows as well.
row_tail() {
    start_kurad
    start_redis durable
    preload settings
    local -A targets=([Kura]=$kura_target [Redis]=$redis_target) rate=() median_us=() tail_us=() ratios=() theft=()
    local name json before window
    for name in Kura Redis; do
        rate[$name]=$(for _ in 1 2 3; do
            "$bench" --target "${targets[$name]}" --mix write --json --connections 64 --seconds "$seconds" | jq -r .opsPerSecond
        done | median)
    done
    for window in 1 2 3; do
        for name in Kura Redis; do
            sleep 2
            before=$(stolen)
            json=$("$bench" latency --target "${targets[$name]}" --mix write --connections 64 --seconds "$long" --json \
                --rate "$(divide "${rate[$name]}" 2 0)")
            theft[$name]+=" $(divide $(($(stolen) - before)) "$long" 1)"
            median_us[$name]+=" $(jq .p50Us <<<"$json")"
            tail_us[$name]+=" $(jq .p999Us <<<"$json")"
            ratios[$name]+=" $(divide "$(jq .p999Us <<<"$json")" "$(jq .p50Us <<<"$json")")"
        done
    done
    local -A ratio=() shown=()
    for name in Kura Redis; do
        ratio[$name]=$(tr ' ' '\n' <<<"${ratios[$name]# }" | median)
        shown[$name]="p99.9 $(thousands "$(tr ' ' '\n' <<<"${tail_us[$name]# }" | median)") µs over a median of \
$(thousands "$(tr ' ' '\n' <<<"${median_us[$name]# }" | median)") µs at $(thousands "${rate[$name]}")/s ÷ 2: \
${ratio[$name]} × ($(tr ' ' '\n' <<<"${ratios[$name]# }" | lowest_highest)); stolen${theft[$name]} ticks/s"
    done
    record "p99.9 of a durable write at half of saturation over its median, 3 windows of ${long} s" "${shown[Kura]}" \
        "Redis ${shown[Redis]}" "${ratio[Kura]}" "≤ 20" "$(holds "${ratio[Kura]}" at-most 20)"
}

resident_mib() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$kurad_pid/status"; }

row_memory() {
    start_kurad
    sleep 1
    local size
    size=$(resident_mib)
    record "idle memory of a fresh daemon (VmRSS)" "$size MiB" - - "≤ 16 MiB" "$(holds "$size" at-most 16)"
}

row_start() {
    local times=() time round log
    start_kurad
    "$bench" --target "$kura_target" --room documents --keys 1000000 --preload --requests 1 >/dev/null
    stop_kurad
    for round in 1 2 3; do
        start_kurad kura documents
        times+=("$first_reply_ms")
        stop_kurad
    done
    time=$(printf '%s\n' "${times[@]}" | median)
    record "start to first reply, 1,000,000 documents, after a clean stop" "$time ms" - - "≤ 50 ms" "$(holds "$time" at-most 50)"

    # 64 MiB of values go into the log; the kill comes with the last reply, before folding can catch up.
    times=()
    for round in 1 2 3; do
        start_kurad kura documents
        "$bench" --target "$kura_target" --room documents --keys 1000000 --mix write --value-size 1024 --requests 65536 \
            --connections 8 --depth 32 >/dev/null
        stop_kurad KILL
        log=$(du -sm "$data/kura/log" 2>/dev/null | cut -f 1 || true)
        start_kurad kura documents
        times+=("$first_reply_ms")
        stop_kurad
    done
    time=$(printf '%s\n' "${times[@]}" | median)
    record "the same, after kill -9 with 64 MiB written to the log just before (${log:-?} MiB in log/)" "$time ms" - - \
        "≤ 1000 ms" "$(holds "$time" at-most 1000)"
}

row_connections() {
    start_kurad
    local json size
    json=$("$bench" connections --target "$kura_target" --pid "$kurad_pid" --count 10000 --json)
    size=$(jq '[.rssOpenKiB, .rssPingedKiB] | max / 1024 * 10 | round / 10' <<<"$json")
    record "10,000 idle connections (VmRSS; ping on each p99 $(jq -r .pingP99Us <<<"$json") µs)" "$size MiB" \
        "$(jq '.rssBeforeKiB / 1024 * 10 | round / 10' <<<"$json") MiB before" - "≤ 100 MiB" "$(holds "$size" at-most 100)"
}

# The rows of the caches. Sourced by scripts/bench; each function runs in a subshell of its own.
#
# Needs servers.sh and rows.sh.

# against_cache WHAT TARGET PEER LOAD-OPTIONS…: one line, Kura and a peer in turn, the model cache.
against_cache() {
    local what=$1 target=$2 peer=$3 name=${3%%:*} json code=0
    shift 3
    json=$("$bench" compare --a "$kura_target" --b "$peer" --json --room models "$@") || code=$?
    if [ "$code" != 0 ] && [ "$code" != 3 ]; then
        record "$what, $name" - - - "≥ $target" FAILED
        return 0
    fi
    local ratio verdict
    ratio=$(jq -r .ratio <<<"$json")
    verdict=$(holds "$ratio" at-least "$target")
    [ "$code" = 3 ] && verdict=VOID
    record "$what" "$(thousands "$(jq -r .a.opsPerSecond <<<"$json")")/s" \
        "$name $(thousands "$(jq -r .b.opsPerSecond <<<"$json")")/s" \
        "$(jq -r '"\(.ratio * 100 | round / 100) (\(.ratioMin * 100 | round / 100)–\(.ratioMax * 100 | round / 100))"' <<<"$json")" \
        "≥ $target" "$verdict"
}

row_caches() {
    start_kurad
    start_redis plain
    start_memcached
    "$bench" --target "$kura_target" --room models --preload --requests 1 >/dev/null
    "$bench" --target "$redis_target" --room models --preload --requests 1 >/dev/null
    "$bench" --target "$memcached_target" --room models --preload --requests 1 >/dev/null
    sleep 1
    local common=(--rounds "$rounds" --seconds "$seconds" --settle 0.2) peer
    for peer in "$redis_target" "$memcached_target"; do
        against_cache "cached model read, 1 connection" 1.0 "$peer" "${common[@]}" --mix read --connections 1
        against_cache "cached model read, 8 connections" 1.0 "$peer" "${common[@]}" --mix read --connections 8
        against_cache "cached model read, 64 connections" 1.0 "$peer" "${common[@]}" --mix read --connections 64
        against_cache "cached model read, 8 × 32 pipelined" 1.0 "$peer" "${common[@]}" --mix read --connections 8 --depth 32
        against_cache "cached model write, 8 connections" 1.0 "$peer" "${common[@]}" --mix write --connections 8
        against_cache "cached model write, 64 connections" 1.0 "$peer" "${common[@]}" --mix write --connections 64
        against_cache "cached model write, 8 × 32 pipelined" 1.0 "$peer" "${common[@]}" --mix write --connections 8 --depth 32
    done
    stop_redis
    local herd
    herd=$(python3 "$root/scripts/peers/herd.py" "$sockets/k.sock" "$sockets/m.sock" 64 100)
    record "64 processes on one expired key, an origin of 100 ms: its calls" \
        "$(jq -r .kura.calls <<<"$herd")" "memcached, get and set $(jq -r .memcached.calls <<<"$herd")" - "= 1" \
        "$(holds "$(jq -r .kura.calls <<<"$herd")" at-most 1)"
    record "the same: slowest client" "$(jq -r .kura.slowestMs <<<"$herd") ms" \
        "memcached $(jq -r .memcached.slowestMs <<<"$herd") ms" - "≤ 200 ms" \
        "$(holds "$(jq -r .kura.slowestMs <<<"$herd")" at-most 200)"
    bytes_a_cached_byte
}

# What the disk gets for each byte that is cached: values of 1 KiB, 5,000 a second among 100,000 keys, written out and closed.
bytes_a_cached_byte() {
    stop_kurad
    start_kurad cached
    local load
    load=$("$bench" --target "$kura_target" --room models --mix write --connections 8 --rate 5000 --seconds "$long" --value-size 1024 --json)
    sleep 1
    stop_kurad
    record "bytes written per byte of a cached value, 5,000 × 1 KiB a second" \
        "$(divide "$kurad_wrote" "$(jq '.acknowledgedWrites * 1024' <<<"$load")")" - - - ok
}

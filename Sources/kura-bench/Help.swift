/// The text of `--help`.
enum Help {
    static let text = """
        kura-bench: one load generator for Kura and, over RESP, Redis

        usage
          kura-bench [load] --target TARGET [options]
          kura-bench latency --target TARGET --rate R [options]
          kura-bench compare --a TARGET --b TARGET [--rounds 5] [--settle 0.5] [options]
          kura-bench replay --target kura:SOCKET --requests FILE [--connections 1] [--depth 1] [--seconds 3 | --once] [--json]
          kura-bench connections --target TARGET --pid PID [--count 10000] [--json]
          kura-bench changes --target TARGET [--subscribers 1] [--rate 5000] [--seconds 5] [--json]
          kura-bench spawn --target TARGET [--room documents] [--timeout 60] -- COMMAND…

        TARGET is kura:SOCKET or redis:SOCKET, a Unix socket.

        options of load, latency and compare
          --room settings|documents|secrets|models   which room of Kura (settings)
          --mix read|write|mixed:P      P percent writes (read)
          --connections N               (1)
          --depth N                     requests under way on a connection (1)
          --seconds S                   (3)
          --requests N                  stop after N requests instead
          --keys N                      chosen at random (100000)
          --value-size BYTES            at least 16 (100)
          --rate R                      open loop at R requests a second in all; latency counts from the intended time
          --processes N                 N generators of one connection each, every one a process
          --preload                     put every key once before the clock starts
          --json                        one JSON object instead of text

        Every write alters the value. Writes to Kura are void (exit 3) unless its revision rose exactly once for each
        acknowledged write: nobody else may write meanwhile. Reads are void when one of them found no value.
        Latencies are in microseconds. compare runs a, b, a, b …, pauses --settle seconds before each, and prints
        medians, the ratio of the medians, and the least and greatest ratio of a round.
        replay sends the lines of a file, whole requests with id 1, over and over; --once: each line once.
        connections tells the server's resident memory before and with idle connections, then pings each in turn.
        changes has a process write keys at a rate, and tells how long after its time each write reached each subscriber
        (changes.watch; Redis: keyspace notifications), beside the writes' own latency.
        spawn starts a server, prints its pid and the time to the first reply, hands SIGTERM on to it, and at its end
        prints what it wrote: write_bytes (pages dirtied, to disk) and wchar (bytes handed to write calls).

        examples
          kura-bench --target kura:/run/kura/kura.sock --preload --connections 64
          kura-bench --target redis:/tmp/redis.sock --mix write --connections 8 --depth 32 --json
          kura-bench latency --target kura:/run/kura/kura.sock --mix write --connections 64 --rate 50000 --seconds 60
          kura-bench compare --a kura:/run/kura/kura.sock --b redis:/tmp/redis.sock --mix write --connections 64
          kura-bench connections --target kura:/run/kura/kura.sock --pid "$(pidof kurad)"
          kura-bench spawn --target kura:/tmp/k.sock -- kurad --data-dir /tmp/k --socket /tmp/k.sock

        exit codes: 0 measured, 1 failed, 2 wrong usage, 3 void
        """
}

import Glibc
import KuraClient
import Testing

@testable import KuraCommand

@Suite struct DoctorTests {
    private func script(_ body: String) -> String {
        """
        work=$(mktemp -d); export KURA_SOCKET=$work/s KURA_DATA_DIR=$work/d; unset KURA_CONFIG
        serve() { kurad --profile small --min-free 0 "$@" 2>>"$work/log" & daemon=$!
          for _ in {1..6000}; do kura ping -q 2>/dev/null && return; sleep 0.01; done; }
        stop() { kill "${1:--TERM}" $daemon; wait $daemon 2>/dev/null; daemon=; }
        trap '[[ $daemon ]] && stop -KILL; rm -rf "$work"' EXIT
        # What is found but for what depends on this host: severity and check, each once.
        look() { kura doctor --json "$@" >"$work/out"; echo "status $?"
          jq -r 'select((.check | IN("disk", "clock", "sqlite") | not) and (.message | test("tmpfs") | not)) | select(.severity != "ok") | "\\(.severity) \\(.check)"' "$work/out" | sort -u; }
        \(body)
        """
    }

    private func run(_ body: String) throws -> [String] {
        try Shell.run(script(body)).output.split(separator: "\n").map(String.init)
    }

    @Test func `with and without a daemon it says how things stand, and its status is that of the worst`() throws {
        guard Shell.has("jq") else { return }
        // Nothing is there yet; then it serves; then it has stopped.
        #expect(try run("look") == ["status 8", "note directory", "warning daemon"])
        #expect(
            try run("serve; kura settings put a b 1 -q; look; stop; look") == [
                "status 0", "note backups", "note keys", "status 8", "note backups", "note keys", "warning daemon",
            ])
    }

    @Test func `the directory that is looked at is the daemon's, unless another one is named`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            cd "$work"; unset KURA_DATA_DIR; export XDG_STATE_HOME=$work/state
            serve --data-dir d; cd /
            where() { kura doctor --json "$@" | jq -r 'select(.check == "directory") | .message' | sed "s#$work#W#" | cut -d' ' -f1; }
            where; where --data-dir "$work/other"; KURA_DATA_DIR=$work/third where
            """)
        #expect(found.first?.hasPrefix("W/d") == true && found.dropFirst() == ["W/other", "W/third"], "\(found)")
    }

    @Test func `what others can read is an error, with what to do`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            serve; kura secrets put mail ada -q <<<"s3cret"; stop
            chmod 755 "$work/d"; look; chmod 700 "$work/d"
            chmod 644 "$work/d/keys/root.key"; look; chmod 600 "$work/d/keys/root.key"
            chmod 755 "$work/d/log"; look
            jq -r 'select(.check == "modes") | .advice' "$work/out"
            """)
        #expect(
            found == [
                "status 9", "error directory", "note backups", "note keys", "warning daemon",
                "status 9", "error keys", "note backups", "note keys", "warning daemon", "warning modes",
                "status 8", "note backups", "note keys", "warning daemon", "warning modes",
                "chmod go= it; only the mode of the directory above keeps others out",
            ], "\(found)")
    }

    @Test(.enabled(if: geteuid() == 0, "is for root")) func `who may not ask the daemon is not told that none answers`()
        throws
    {
        guard Shell.has("jq"), Shell.has("setpriv") else { return }
        let found = try run(
            """
            serve; chmod 755 "$work"
            other="setpriv --reuid 61234 --regid 61234 --clear-groups --"
            $other kura --version >/dev/null 2>&1 || { echo unreachable; exit; }
            $other kura doctor --json >"$work/out"; echo "status $?"
            jq -r 'select(.check == "daemon") | .severity, .message, .advice' "$work/out" | sed "s#$work#W#"
            """)
        guard found != ["unreachable"] else { return }
        #expect(
            found == [
                "status 8", "warning", "whether one answers cannot be told: this user may not connect to W/s",
                "run as the user who runs the daemon, or start one of your own with 'kurad'",
            ], "\(found)")
    }

    @Test func `a root key that opens no slot is an error`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            serve; kura secrets put mail ada -q <<<"s3cret"; stop
            cd "$work/d/keys"; cp root.key ..
            head -c 32 /dev/urandom >root.key; look
            cp ../root.key .; printf x >>root.key; look
            jq -r 'select(.check == "keys") | .message' "$work/out"
            cp ../root.key .; look
            """)
        #expect(
            found == [
                "status 9", "error keys", "note backups", "warning daemon",
                "status 9", "error keys", "note backups", "warning daemon", "keys/root.key has 33 bytes, not 32",
                "status 8", "note backups", "note keys", "warning daemon",
            ], "\(found)")
    }

    @Test func `slots that are damaged or gone, and a key that is missing, are errors`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            serve; kura secrets put mail ada -q <<<"s3cret"; stop
            cd "$work/d/keys"; cp slots.json ..
            sed -i 's/"format":1/"format":7/' slots.json; look
            rm slots.json; look
            cp ../slots.json .; mv root.key ..; look
            """)
        for part in [["status 9", "error keys"]] { #expect(found.starts(with: part), "\(found)") }
        #expect(found.count { $0 == "error keys" } == 3 && found.count { $0 == "status 9" } == 3, "\(found)")
    }

    @Test func `a recovery that nobody has acknowledged is told by the status, with and without a daemon`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            serve; kura settings put a b 1 -q; stop
            # Damage that stops two starts; the third goes on without it.
            printf 'garbage!' | dd of="$work/d/durable/kura.sqlite" conv=notrunc status=none
            for _ in 1 2; do timeout 60 kurad --profile small --min-free 0 2>>"$work/log"; done
            serve; look
            kura doctor -q; echo "quiet $?"
            stop; look
            serve; kura storage acknowledge -q; look
            """)
        #expect(found.count { $0 == "status 10" } == 2 && found.count { $0 == "recovered recovery" } == 2, "\(found)")
        #expect(found.contains("quiet 10") && found.last { $0.hasPrefix("status") } == "status 0", "\(found)")
    }

    @Test func `a configuration that does not hold is found, and bad usage refused`() throws {
        guard Shell.has("jq") else { return }
        let found = try run(
            """
            serve; stop
            echo '{"slowMilliseconds":"often"}' >"$work/config"; chmod 600 "$work/config"
            look --config "$work/config" | head -2
            kurad doctor --nonsense 2>/dev/null; echo "usage $?"
            kura doctor word 2>/dev/null; echo "usage $?"
            """)
        #expect(found == ["status 9", "error configuration", "usage 2", "usage 2"], "\(found)")
    }

    @Test func `what a daemon tells of its keys is judged, without its directory`() throws {
        func judge(_ members: String) throws -> [String] {
            let status = try #require(JSONObject(Array("{\"state\":\"sealed\"\(members)}".utf8)))
            return DaemonExamination.judge(secrets: status).map { "\($0.severity) \($0.check)" }
        }
        #expect(try judge("") == [])
        #expect(try judge(",\"hostKeyRenewedAt\":\"2026-11-22T08:30:00.000Z\"") == ["warning keys"])
        #expect(try judge(",\"hostKeyUnusable\":true") == ["error keys"])
        #expect(try judge(",\"rootKeyUnneeded\":true") == ["warning keys"])
        let unusable = try #require(
            JSONObject(Array("{\"state\":\"unusable\",\"reason\":\"it is older than the secrets\"}".utf8)))
        let findings = DaemonExamination.judge(secrets: unusable)
        #expect(findings.count == 1 && findings[0].severity == .error)
        #expect(findings[0].message.contains("older than the secrets"))
    }

    @Test func `what a daemon tells of itself is judged`() throws {
        func judge(_ status: String, _ stats: String = ObservedDaemon.stats(), known: Bool = false) throws -> [String] {
            let (status, stats) = (
                try #require(JSONObject(Array(status.utf8))), try #require(JSONObject(Array(stats.utf8)))
            )
            return DaemonExamination.judge(status, stats, isDirectoryKnown: known, now: Self.now).map {
                "\($0.severity) \($0.check)"
            }
        }
        let usual = ObservedDaemon.status()
        #expect(try judge(usual) == ["note slow"])
        #expect(try judge(usual.replacing("\"low\":false", with: "\"low\":true")) == ["warning space", "note slow"])
        #expect(try judge(usual.replacing("\"open\":3", with: "\"open\":90")) == ["warning connections", "note slow"])
        #expect(
            try judge(usual.replacing("\"turnedAway\":0", with: "\"turnedAway\":4")) == [
                "warning connections", "note slow",
            ])
        let quota = "{\"app\":{\"bytes\":91,\"items\":1,\"scopes\":1,\"bytesLimit\":100,\"scopesLimit\":50}}"
        #expect(
            try judge(usual.replacing("\"quotas\":{}", with: "\"quotas\":\(quota)")) == ["warning quotas", "note slow"])
        let broken = ObservedDaemon.stats().replacing("\"refusals\":{", with: "\"refusals\":{\"internalError\":1,")
        #expect(try judge(usual, broken) == ["error errors", "note slow"])
        let notice = "{\"what\":\"durable\",\"quarantine\":\"q\",\"reason\":\"r\"}"
        let recovered = usual.replacing("\"quotas\"", with: "\"recovered\":[\(notice)],\"quotas\"")
        #expect(try judge(recovered) == ["recovered recovery", "note slow"])
        #expect(try judge(recovered, known: true) == ["note slow"], "the directory has told of it")
        let damage = "{\"file\":\"durable/kura.sqlite\",\"kind\":\"damaged\",\"count\":3}"
        let damaged = usual.replacing(
            "\"quotas\"", with: "\"damage\":[\(damage)],\"check\":{\"problems\":2},\"quotas\"")
        #expect(try judge(damaged) == ["error damage", "error damage", "note slow"])
        #expect(
            try judge(damaged.replacing("\"problems\":2", with: "\"problems\":0")) == ["error damage", "note slow"])

        // The daemon has run for an hour.
        func snapshots(_ text: String) throws -> String {
            try judge(usual.replacing("\"quotas\"", with: "\"backups\":{\(text)},\"quotas\""))[0]
        }
        #expect(try snapshots("\"everySeconds\":3600,\"failures\":0") == "ok snapshots", "there is time yet")
        #expect(try snapshots("\"everySeconds\":1700,\"failures\":0") == "warning snapshots")
        let failure = "\"failures\":1,\"lastFailureAt\":\"2026-11-22T08:30:00.000Z\",\"lastFailure\":\"no\""
        #expect(try snapshots("\"everySeconds\":3600,\(failure)") == "warning snapshots", "there is none")
        let newest = "\"newestAt\":\"2026-11-22T08:00:00.000Z\""
        #expect(try snapshots("\"everySeconds\":1801,\"failures\":0,\(newest)") == "ok snapshots")
        #expect(try snapshots("\"everySeconds\":1801,\(failure),\(newest)") == "note snapshots")
        #expect(try snapshots("\"everySeconds\":1799,\"failures\":0,\(newest)") == "warning snapshots")
    }

    /// 2026-11-22T09:00:00Z.
    private static let now: Int64 = 1_795_338_000
}

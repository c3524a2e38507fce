import Synchronization
import Testing

@testable import KuraCommand

/// One index of a collection, whatever others it has.
@Suite struct IndexCommandTests {
    @Test func `an index comes and goes, and the others stay`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>told
            show() { kura docs describe c | jq -c '[.indexes[] | {name, fields, unique, where, state} | del(..|nulls)]'; }
            seq 300 | sed 's/.*/{"id":"d&","value":{"mail":"m&","n":&,"state":"todo"}}/' | kura -q docs import c
            kura docs add-index c mail --unique | jq -c '{name, unique, state, entries}'
            kura docs add-index c state n --where n\\>100 --where state=todo --name late | jq -c '{state, entries}'
            show
            # As it is to be already.
            kura docs add-index c mail --unique -q; echo "$?"
            # Another one of that name.
            kura docs add-index c n --name mail; echo "$?"
            # Two are equal: it stays as failed, and the others are there.
            kura -q docs put c twin '{"mail":"m1","n":1}' --json 2>&1 | cut -c 1-25; kura -q docs put c twin '{"mail":"x","n":1}'
            kura docs add-index c n --unique | jq -r .state; echo "${PIPESTATUS[0]}"
            kura -q docs delete c twin
            kura docs add-index c n --unique | jq -r .state; echo "${PIPESTATUS[0]}"
            kura docs drop-index c late; show | jq -c 'map(.name)'
            kura docs drop-index c mial; echo "$?"
            kura docs drop-index none x; echo "$?"
            # All at once: what is not named is dropped, and that is said.
            kura docs configure c --indexes '[{"name":"n","fields":["n"],"unique":true}]' | jq -c .building
            kura docs configure c --indexes null --dry-run --version 2 2>&1 | grep -c dropped
            kura docs configure c --indexes '[]' -q; kura docs configure c --schema-mode warn; show
            echo ---; cat told
            """)
        let parts = outcome.output.split(separator: "---\n", maxSplits: 1).map(String.init)
        try #require(parts.count == 2, "\(outcome.output)")
        let lines = parts[0].split(separator: "\n").map(String.init)
        let late =
            #"{"name":"late","fields":["state","n"],"unique":false,"where":{"n":{"$gt":100},"state":"todo"},"state":"ready"}"#
        let wanted = [
            #"{"name":"mail","unique":true,"state":"ready","entries":300}"#, #"{"state":"ready","entries":200}"#,
            #"[{"name":"mail","fields":["mail"],"unique":true,"state":"ready"},\#(late)]"#,
            "0", "1", #"{"code":-32023,"message":"#, "failed", "1", "ready", "0", #"{"dropped":true}"#,
            #"["mail","n"]"#,
            #"{"dropped":false}"#, "0", #"{"dropped":false}"#, "0", "[]", "0", #"{"rev":15,"building":[]}"#, "[]",
        ]
        for (found, line) in zip(lines, wanted) { #expect(found == line) }
        #expect(lines.count == wanted.count, "\(outcome.output)")
        for told in [
            "kura: there is another index 'mail' in 'c'\n", "hint: --name gives this one another name;",
            "kura: index 'n' cannot be unique: d1 and twin have", "has no index 'mial'; did you mean mail?",
            "kura: 'none' has no index 'x'; it has none\n",
            "kura: dropped: mail (unique); --indexes takes all that are to stay",
        ] {
            #expect(parts[1].contains(told), "\(told): \(parts[1])")
        }
        // With -q, and where nothing is dropped, nothing is said.
        #expect(parts[1].split(separator: "dropped: ").count == 2, "\(parts[1])")
    }

    @Test func `whoever configures the collection meanwhile loses nothing`() {
        // The first two attempts meet somebody else's change.
        let attempts = Mutex(0)
        let server = FakeServer { request in
            let made = attempts.withLock { $0 }
            if request.method == "documents.configure" {
                return attempts.withLock { count in
                    count += 1
                    return [
                        count <= 2
                            ? request.error("conflict", code: -32001, ",\"currentRev\":\(count)")
                            : request.result(#"{"rev":9,"building":[]}"#)
                    ]
                }
            }
            let theirs = (0..<made).map { #"{"name":"i\#($0)","fields":["x\#($0)"],"unique":true,"state":"ready"}"# }
            let ours = made > 2 ? [#"{"name":"n","fields":["n"],"unique":false,"state":"ready"}"#] : []
            return [request.result("{\"rev\":\(made),\"indexes\":[\((theirs + ours).joined(separator: ","))]}")]
        }
        let outcome = CapturedConsole().run("docs", "add-index", "c", "n", on: server)
        #expect(outcome.status == .done, "\(outcome.errors)")
        let configured = server.requests.filter { $0.hasPrefix("documents.configure") }
        #expect(
            configured.last
                == #"documents.configure {"collection":"c","indexes":[{"name":"i0","fields":["x0"],"unique":true},{"name":"i1","fields":["x1"],"unique":true},{"name":"n","fields":["n"]}],"ifRev":2}"#,
            "\(configured)")
        #expect(configured.count == 3)
    }

    @Test func `ten commands at once leave ten indexes, and no reference's own is touched`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs configure c --references '[{"field":"owner","collection":"people","onDelete":"deny"}]'
            own=$(kura docs describe c | jq -r '.indexes[] | select(.each) | .name')
            for i in {0..9}; do kura -q docs add-index c "f$i" 2>>errors & pids+=($!); done
            for pid in "${pids[@]}"; do wait "$pid"; echo -n "$? "; done; echo; cat errors
            kura docs describe c | jq '[.indexes[] | select(.each | not)] | length'
            kura docs describe c | jq -r '[.indexes[] | select(.each)] | length'
            pids=(); for i in {0..8}; do kura -q docs drop-index c "f$i" & pids+=($!); done
            for pid in "${pids[@]}"; do wait "$pid"; done
            kura docs describe c | jq -r '.indexes[] | select(.each | not) | .name'
            kura docs drop-index c "$own" 2>&1; echo "$?"
            kura docs configure c --indexes '[]' 2>&1 >/dev/null
            """)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        try #require(lines.count >= 5, "\(outcome.output)")
        #expect(
            lines[0] == "0 0 0 0 0 0 0 0 0 0 " && lines[1] == "10" && lines[2] == "1" && lines[3] == "f9", "\(lines)")
        #expect(lines[4].contains("belongs to a reference") && lines[6] == "1", "\(lines)")
        #expect(lines.last?.hasPrefix("kura: dropped: f9; --indexes takes all that are to stay") == true, "\(lines)")
    }
}

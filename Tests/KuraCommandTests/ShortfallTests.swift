import Testing

@testable import KuraCommand

/// Replies that are no errors and say that what was asked for was not done: who pipes must not take it for done.
@Suite struct ShortfallTests {
    private let pipe = CapturedConsole()

    private struct Case: Sendable {
        var command: String
        var result: String
        var status: ExitCode
        /// On standard error.
        var told: [String] = []
    }

    private static let token = String(repeating: "0", count: 64)

    private static let cases: [Case] = [
        Case(
            command: "blobs put images a /dev/null", result: #"{"stored":false,"reason":"overBudget"}"#,
            status: .declined,
            told: [
                "kura: nothing was stored: it is larger than the cache may be", "hint: 'kura blobs describe NAMESPACE'",
            ]),
        Case(
            command: "blobs put images a /dev/null --if-absent", result: #"{"stored":false,"reason":"present"}"#,
            status: .declined, told: ["kura: nothing was stored: one is there already"]),
        Case(
            command: "blobs begin-upload images a", result: #"{"stored":false,"reason":"lowStorage"}"#,
            status: .declined,
            told: ["the disk is nearly full", "hint: make room"]),
        Case(command: "blobs begin-upload images a", result: #"{"upload":"u1"}"#, status: .done),
        Case(
            command: "blobs commit-upload u1", result: #"{"stored":false,"reason":"busy"}"#, status: .declined,
            told: ["too much waits", "hint: try again"]),
        Case(
            command: "blobs touch images a", result: #"{"found":false}"#, status: .declined, told: ["nothing is there"]),
        Case(
            command: "blobs stat images a", result: #"{"found":false}"#, status: .absent,
            told: ["kura: nothing is there"]),
        Case(
            command: "models put feed home 1", result: #"{"stored":false,"reason":"overBudget"}"#, status: .declined,
            told: ["kura: nothing was stored", "hint: 'kura models describe NAMESPACE'"]),
        Case(
            command: "models put feed home 1 --no-store", result: #"{"stored":false,"reason":"notWanted"}"#,
            status: .done),
        Case(
            command: "models put-many feed '{}'",
            result: #"{"stored":1,"declined":[{"key":"about","reason":"quotaExceeded"}]}"#, status: .partly,
            told: ["kura: left out: about: the writer may have no more", "kura: 1 of 2 stored"]),
        Case(
            command: "models put-many feed '{}'", result: #"{"stored":0,"declined":[{"key":"a","reason":"exists"}]}"#,
            status: .declined, told: ["kura: 0 of 1 stored"]),
        Case(command: "models put-many feed '{}'", result: #"{"stored":2,"declined":[]}"#, status: .done),
        Case(
            command: "models touch feed home", result: #"{"touched":false}"#, status: .declined,
            told: ["nothing is there"]),
        Case(
            command: "models fail \(token)", result: #"{"ended":false}"#, status: .declined, told: ["counts no longer"]),
        Case(
            command: "settings configure app --mode enforce",
            result: #"{"rev":1,"applied":false,"violations":[{"key":"a"}],"checked":1}"#, status: .declined,
            told: ["kura: nothing was changed: stored values break the schema", "hint: ", "--force"]),
        Case(
            command: "settings configure app --mode enforce --dry-run",
            result: #"{"rev":1,"applied":false,"violations":[],"checked":1}"#, status: .done),
        Case(
            command: "docs import c /dev/null --on-error skip",
            result: #"{"imported":2,"skipped":1,"errors":[{"line":3,"message":"no JSON"}],"offset":9,"rev":1}"#,
            status: .partly, told: ["kura: left out: line 3: no JSON", "kura: 1 record was left out"]),
        Case(
            command: "docs export c /dev/null",
            result: #"{"exported":2,"attachmentsLeftOut":1,"attachmentsDamaged":1,"warnings":["x"],"rev":1}"#,
            status: .partly, told: ["kura: attachments of 1 document are damaged or gone", "hint: 'kura doctor'"]),
        Case(
            command: "secrets clear mail mail", result: #"{"rev":1,"deleted":1000,"left":7}"#, status: .partly,
            told: ["kura: 7 are still there", "hint: the same again"]),
        Case(
            command: "secrets verify",
            result: #"{"services":1,"secrets":1,"versions":1,"damaged":[],"damagedCount":0,"otherHostKey":1,"rev":1}"#,
            status: .negative,
            told: ["kura: 1 value is sealed with another keys/host.key", "hint: nothing is damaged"]),
        Case(
            command: "secrets repair s --service s",
            result:
                #"{"rev":1,"kept":1,"lostSecrets":0,"lostVersions":0,"damaged":[],"damagedCount":0,"otherHostKey":2}"#,
            status: .partly,
            told: ["2 values are sealed with another keys/host.key, and left as they are", "--other-host-key"]),
        Case(
            command: "session can get app", result: #"{"allowed":false,"reason":"forbidden"}"#, status: .negative,
            told: ["forbidden"]),
        Case(
            command: "storage check",
            result: #"{"problems":[{"file":"a"}],"problemCount":1,"checked":{},"skipped":[],"rev":1}"#,
            status: .negative,
            told: ["kura: 1 thing is not as"]),
        Case(
            command: "backups compare night",
            result:
                #"{"backupRev":1,"same":3,"added":1,"changed":0,"removed":2,"differing":1,"differences":[],"rev":4}"#,
            status: .negative, told: ["kura: 3 items are not as in the backup"]),
        Case(
            command: "backups compare night",
            result:
                #"{"backupRev":1,"same":3,"added":0,"changed":1,"removed":0,"differing":1,"differences":[],"rev":4}"#,
            status: .negative, told: ["kura: 1 item is not as in the backup"]),
        Case(
            command: "backups compare night",
            result:
                #"{"backupRev":1,"same":3,"added":0,"changed":0,"removed":0,"differing":0,"differences":[],"rev":4}"#,
            status: .done),
        Case(
            command: "storage health", result: #"{"live":true,"ready":false,"reasons":["starting"]}"#, status: .tryAgain
        ),
        // It is as it was to be.
        Case(command: "docs delete c d", result: #"{"rev":0,"deleted":false}"#, status: .done),
        Case(command: "docs patch c d '{}'", result: #"{"rev":1,"changed":false}"#, status: .done),
        Case(command: "blobs delete images a", result: #"{"deleted":false}"#, status: .done),
    ]

    @Test(arguments: cases.indices)
    func `a reply that is no error and says that it was not done has a status and a line of its own`(index: Int) {
        let one = Self.cases[index]
        let words = one.command.split(separator: " ").map { word in String(word.filter { $0 != "'" }) }
        func run(_ more: String...) -> Outcome {
            let server = FakeServer { [$0.result(one.result)] }
            return pipe.run(["--socket", server.path] + words + more)
        }
        let plain = run()
        #expect(plain.status == one.status, "\(one.command): \(plain)")
        for told in one.told { #expect(plain.errors.contains(told), "\(one.command): \(plain.errors)") }
        if one.told.isEmpty { #expect(plain.errors == "", "\(one.command)") }
        let quiet = run("-q")
        #expect(quiet.status == one.status && quiet.output == "" && quiet.errors == "", "\(one.command)")
        // For programs, the reply says it.
        let whole = run("--json")
        #expect(whole.status == one.status && whole.errors == "" && whole.output == one.result + "\n", "\(one.command)")
    }

    @Test func `a backup that what is there differs from is told by the status, as is one that is no good`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'; kura -q backup all; head -c 300 all >cut
            try() { echo "$1: $(kura $1 >/dev/null 2>told; echo $?) $(head -1 told)"; }
            try "backups compare --file all"; try "restore all --dry-run"
            kura -q docs put notes a '{"n":2}'; kura -q docs put notes b '{"n":2}'
            try "backups compare --file all"; try "backups compare --file all -q"
            try "restore all --dry-run"
            # The file alone.
            try "restore all --dry-run -q"; try "restore all --dry-run --json"; try "restore all --dry-run --data-dir new"
            try "restore cut --dry-run"
            kura restore all --dry-run | sed -n 2p
            kura --socket nowhere restore all --dry-run >/dev/null 2>told; echo "$? $(cut -d: -f1,2 told)"
            """)
        #expect(
            outcome.output == """
                backups compare --file all: 0\u{20}
                restore all --dry-run: 0\u{20}
                backups compare --file all: 13 kura: 2 items are not as in the backup
                backups compare --file all -q: 13\u{20}
                restore all --dry-run: 13\u{20}
                restore all --dry-run -q: 0\u{20}
                restore all --dry-run --json: 0\u{20}
                restore all --dry-run --data-dir new: 0\u{20}
                restore cut --dry-run: 1 kurad restore: cut: it is cut off: its final part is missing
                  that daemon made it, and nobody has altered it
                0 kura: not compared with a running daemon

                """, "\(outcome.output)")
    }

    @Test func `a blob that does not fit and a signature that is not valid end a pipeline`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura blobs configure images --max-bytes 5000 -q
            head -c 9000 /dev/zero >large
            kura blobs put images a large && echo taken for stored; echo "exit $?"
            kura blobs put images a large >/dev/null 2>told; cat told
            head -c 4000 large | kura blobs put images b - -q; echo "exit $?"
            kura secrets generate sign key --kind key --algorithm ed25519 -q
            signature=$(printf 'the text' | kura secrets sign sign key --data --json | jq -r .signature)
            printf 'the text' | kura secrets verify-signature sign key "$signature" --data -q; echo "exit $?"
            printf 'another' | kura secrets verify-signature sign key "$signature" --data -q; echo "exit $?"
            """)
        #expect(
            outcome.output == """
                {"stored":false,"reason":"overBudget"}
                exit 12
                kura: nothing was stored: it is larger than the cache may be
                hint: 'kura blobs describe NAMESPACE' tells how much that is, 'kura blobs configure NAMESPACE --max-bytes N' changes it
                exit 0
                exit 0
                exit 13

                """, "\(outcome.output)")
    }
}

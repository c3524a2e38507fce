import Testing

@testable import KuraCommand

/// What is left of a recording, however it ends, and what is said of it.
@Suite struct RecordTests {
    @Test func `what came until then is kept when kura or the daemon is killed`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            for victim in kura daemon; do
                kura record $victim.jsonl 2>told & recording=$!
                for _ in {1..200}; do [[ -e $victim.jsonl ]] && break; sleep 0.05; done
                kura settings put app theme dark -q
                for _ in {1..200}; do grep -q theme $victim.jsonl && break; sleep 0.05; done
                if [[ $victim == kura ]]; then kill -9 $recording; else kill -9 $daemon; fi
                wait $recording; echo "$victim $?"; cat told
            done 2>/dev/null
            stat -c %a kura.jsonl; ls -A
            grep -c '"end":' kura.jsonl; kura replay daemon.jsonl --speed max 2>&1 | grep 'cut off'
            """)
        #expect(outcome.output.contains("kura 137\nkura: recording; ^C ends it\n"), "\(outcome)")
        #expect(outcome.output.contains("daemon 3\n"), "\(outcome)")
        #expect(outcome.output.contains("daemon.jsonl has what came until then"), "\(outcome)")
        #expect(outcome.output.contains("600\ndaemon.jsonl\nkura.jsonl\nkura.sock\nlog\ntold\n"), "\(outcome)")
        #expect(outcome.output.contains("\n1\nkura: daemon.jsonl was cut off"), "\(outcome)")
    }

    @Test func `a full disk leaves what came before, under its name`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura record full.jsonl 2>told & recording=$!
            for _ in {1..200}; do [[ -e full.jsonl ]] && break; sleep 0.05; done
            # As a full disk does, the daemon's files alone may be no larger.
            prlimit --pid $daemon --fsize=$((1 << 16)):unlimited
            value=$(head -c 50000 /dev/zero | tr '\\0' v)
            for _ in 1 2 3; do kura settings put app theme "$value" -q >/dev/null 2>&1; done
            wait $recording; echo "ended $?"; cat told
            prlimit --pid $daemon --fsize=unlimited:unlimited
            head -c 13 full.jsonl; ls -A
            """)
        #expect(outcome.output.contains("ended 1\n") && outcome.output.contains("transferFailed"), "\(outcome)")
        #expect(
            outcome.output.contains("hint: full.jsonl has what came until then; 'kura replay' plays it\n"), "\(outcome)"
        )
        #expect(outcome.output.contains("{\"recording\":full.jsonl\n"), "\(outcome)")
    }

    @Test func `a recording whose connection ends and that has its last line is whole`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura record whole.jsonl 2>told & recording=$!
            for _ in {1..200}; do [[ -e whole.jsonl ]] && break; sleep 0.05; done
            kura fault inject gone --millis 300 -q
            kura ping -q >/dev/null 2>&1
            wait $recording; echo "ended $?"; cat told; tail -1 whole.jsonl | grep -c '"end":'
            """)
        #expect(
            outcome.output.contains("ended 0\nkura: recording; ^C ends it\nkura: the daemon ended it\n1\n"),
            "\(outcome)")
    }

    @Test func `a recording that is refused says nothing of one, and leaves no file`() throws {
        let server = FakeServer { [$0.error("overloaded", code: -32011, retryable: true)] }
        let path = "/tmp/kura-refused-\(UInt32.random(in: 0 ... .max)).jsonl"
        let outcome = CapturedConsole().run("record", path, on: server)
        #expect(outcome.status == .tryAgain && !outcome.errors.contains("recording; ^C"), "\(outcome)")
        #expect(try Shell.run("ls \(path)").status != 0)
    }

    @Test func `requests are counted alike by record and replay`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura record lines.jsonl 2>&1 & recording=$!
            for _ in {1..200}; do [[ -e lines.jsonl ]] && break; sleep 0.05; done
            ping='{"jsonrpc":"2.0","id":1,"method":"storage.ping"}'
            python3 - "[$ping,$ping,$ping]" "$ping" '{"jsonrpc":"2.0","method":"storage.ping"}' '[]' <<'END'
            import os, socket, sys
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(os.environ["KURA_SOCKET"])
            daemon.sendall("\\n".join(sys.argv[1:] + [""]).encode() + b'{"jsonrpc":"2.0","id":500,"x":"\\xff"}\\n"text"\\n')
            answers = daemon.makefile()
            for _ in range(5): answers.readline()
            END
            kill $recording; wait $recording
            kura replay lines.jsonl --speed max --expect same | grep -e 'requests in' -e all
            """)
        #expect(outcome.output.contains("lines.jsonl: 8 requests, 7 replies, "), "\(outcome)")
        #expect(outcome.output.contains("\n8 requests in ") && outcome.output.hasSuffix("by kind\n"), "\(outcome)")
    }
}

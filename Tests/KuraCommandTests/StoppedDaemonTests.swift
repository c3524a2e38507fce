import CSyscalls
import Glibc
import Testing

@testable import KuraCommand

/// Commands that end while their daemon is stopped.
@Suite struct StoppedDaemonTests {
    // `program` is how kura is started, `waits` what else shows that it has begun.
    private static func script(_ program: String, waits: String) -> String {
        """
        \(Shell.daemon)
        kura -q docs put notes a '{"n":1}'; printf kept >old
        kill -STOP $daemon
        # As a shell that somebody sits at starts them: not ignoring ^C.
        clear="env --default-signal=INT,TERM,HUP"
        begin() {
            $clear "$@" 2>/dev/null &
            command=$!
            for _ in {1..6000}; do
                [[ $(readlink /proc/$command/exe) == */kura ]] && ls -l /proc/$command/fd | grep -q socket \(waits) && break
                sleep 0.01
            done
        }
        for signal in INT TERM HUP KILL; do
            begin \(program) docs export -q notes new
            kill -$signal $command; wait $command 2>/dev/null; echo "$signal $?: $(ls | sed s/[.].*[.]part/.DRAFT/ | xargs)"
            rm -f *.part
        done
        begin \(program) docs export -q notes old --replace
        kill -INT $command; wait $command 2>/dev/null; echo "$? $(cat old): $(ls | xargs)"
        clear="env --default-signal=INT --ignore-signal=TERM"
        begin \(program) docs export -q notes new
        kill -TERM $command; kill -CONT $daemon; wait $command; echo "$?: $(ls | xargs)"
        """
    }

    @Test func `a signal that ends a command leaves no draft behind`() throws {
        let outcome = try Shell.run(Self.script("kura", waits: ""))
        #expect(
            outcome.output == """
                INT 130: kura.sock log old
                TERM 143: kura.sock log old
                HUP 129: kura.sock log old
                KILL 137: kura.sock log old
                130 kept: kura.sock log old
                0: kura.sock log new old

                """, "\(outcome.output)")
    }

    private static let hidden =
        "unshare --map-root-user --mount sh -c 'mount -t tmpfs none /proc/$$/fd && exec \"$@\"' sh"

    @Test(.enabled(if: (try? Shell.run("\(hidden) true"))?.status == 0))
    func `nor does one that has a draft with a name, but when it is killed`() throws {
        let outcome = try Shell.run(
            Self.script("\(Self.hidden) kura", waits: "&& ls | grep -q 'part$'"))
        #expect(
            outcome.output == """
                INT 130: kura.sock log old
                TERM 143: kura.sock log old
                HUP 129: kura.sock log old
                KILL 137: kura.sock log new.DRAFT old
                130 kept: kura.sock log old
                0: kura.sock log new old

                """, "\(outcome.output)")
    }

    @Test func `a command has its time while a daemon takes no connection, and says what may be the matter`() throws {
        let path = "/tmp/kura-stopped-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        let listener = csys_stream_socket()
        try #require(csys_bind_unix(listener, path) == 0 && listen(listener, 1) == 0)
        var waiting: [Int32] = []
        defer {
            for descriptor in waiting + [listener] { close(descriptor) }
            unlink(path)
        }
        while true {
            let descriptor = csys_stream_socket()
            try #require(descriptor >= 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
            waiting.append(descriptor)
            guard csys_connect_unix(descriptor, path) != 0 else { continue }
            try #require(errno == EAGAIN)
            break
        }
        let outcome = CapturedConsole().run(
            "--socket", path, "--timeout", "0.2", "settings", "put", "app", "a", "1")
        // Nothing was sent.
        #expect(outcome.status == .noDaemon && outcome.output == "")
        #expect(
            outcome.errors == """
                kura: somebody listens at \(path) and took no connection within 200 ms
                hint: the daemon may be stopped, or have more to do than it can; its log may tell

                """)
    }
}

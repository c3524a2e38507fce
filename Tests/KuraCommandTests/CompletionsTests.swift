import Testing

@testable import KuraCommand

/// What `kura completions next` answers.
@Suite struct NextWordTests {
    private static func next(_ line: [String], stored: [String] = []) -> [String] {
        let answer = NextWord(line, .extended) { _, prefix, _ in stored.filter { $0.hasPrefix(prefix) } }.answer
        return answer.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    private func words(_ line: String..., stored: [String] = []) -> [String] {
        let lines = Self.next(line, stored: stored)
        return lines.first == "words" ? Array(lines.dropFirst()) : lines
    }

    @Test func `nouns, verbs, tools and topics follow what names them`() {
        #expect(words("sett") == ["settings"])
        #expect(
            Set(words("")).isSuperset(of: ["settings", "docs", "documents", "ping", "watch", "call", "help", "exec"]))
        #expect(words("docs", "put") == ["put", "put-many"])
        #expect(words("documents", "get-") == ["get-many"])
        #expect(words("docs", "ed") == ["edit"])
        #expect(words("--socket", "/x", "-q", "settings", "inc") == ["increment"])
        #expect(words("secrets", "audit", "ver") == ["verify"])
        #expect(words("bundle", "") == ["create"])
        #expect(words("completions", "f") == ["fish"])
        #expect(words("help", "exit") == ["exit-codes"])
        #expect(words("help", "docs", "put-") == ["put-many"])
        #expect(words("man", "exe") == ["exec"])
        #expect(words("nonsense", "") == [])
    }

    @Test func `every noun has all of its verbs, and every verb all of its options`() {
        for noun in Catalogue.standard.nouns {
            let offered = Set(words(noun.word, ""))
            #expect(offered.isSuperset(of: Catalogue.standard.verbs(of: noun).map(\.word)), "\(noun.word)")
        }
        for verb in Catalogue.standard.verbs {
            let offered = Set(words(verb.noun, verb.word, "--"))
            let wanted = verb.parameters.filter { !$0.isFile }.map { "--\($0.options[0])" } + ["--json", "--socket"]
            #expect(offered.isSuperset(of: wanted), "\(verb.path)")
        }
        for tool in Tool.all {
            let offered = Set(words(tool.path.split(separator: " ").map(String.init) + ["--"]))
            #expect(offered.isSuperset(of: tool.options.map { "--\($0.name)" }), "\(tool.path)")
        }
    }

    private func words(_ line: [String]) -> [String] { Array(Self.next(line).dropFirst()) }

    @Test func `options are offered until they are given, and their values after them`() {
        #expect(words("settings", "put", "--if") == ["--if-rev"])
        #expect(words("settings", "put", "--if-rev", "1", "--if") == [])
        #expect(words("settings", "put", "--so") == ["--socket"])
        #expect(words("watch", "--stores", "settings", "--sto") == ["--stores"])
        #expect(words("exec", "--env", "A=b/c", "--en") == ["--env"])
        #expect(words("--color", "a") == ["auto", "always"])
        #expect(words("settings", "put", "--color=a") == ["--color=auto", "--color=always"])
        #expect(words("records", "everything", "n", "--mode", "w") == ["warn"])
        #expect(words("records", "everything", "n", "--no-i") == ["--no-is-dry"])
        #expect(words("import", "--from", "p") == ["plist"])
        #expect(words("disk-writes", "--by=cl") == ["--by=client"])
        #expect(words("documents", "find", "c", "--columns", "") == ["id", "value", "rev"])
        #expect(words("documents", "find", "c", "--columns", "id,r") == ["id,rev"])
        #expect(words("settings", "put", "a", "k", "--if-rev", "") == [])
        #expect(words("settings", "put", "app", "--", "--if") == [])
    }

    @Test func `arguments are words, files or names that the daemon has`() {
        #expect(words("watch", "") == ["settings", "secrets", "documents", "models", "blobs", "storage"])
        #expect(words("records", "import", "c", "") == ["files"])
        #expect(words("restore", "") == ["files"] && words("restore", "--identity", "") == ["files"])
        #expect(words("restore", "--data-dir=") == ["directories"])
        #expect(words("man", "--output", "") == ["directories"])
        #expect(words("docs", "export", "no", stored: ["notes", "a"]) == ["notes"])
        #expect(words("settings", "get", "app", "t", stored: ["theme"]) == ["theme"])
        #expect(words("settings", "put", "app", "k", "t", stored: ["theme"]) == [])
        #expect(words("call", "settings.getM") == ["settings.getMany"])
        #expect(words("call", "settings.put", "domain=a", "va") == ["value="])
        #expect(words("call", "settings.put", "if") == ["ifRev:="])
        #expect(words("call", "secrets.unlock", "pass") == [])
    }

    @Test func `a name that looks like an option is offered where it is none`() {
        let names = ["-dash", "--json", "-", "-5", "plain"]
        #expect(words("settings", "get", "app", "", stored: names) == ["-", "-5", "plain"])
        #expect(words("settings", "get", "app", "--", "", stored: names) == names)
        #expect(words("settings", "get", "app", "--", "--j", stored: names) == ["--json"])
        #expect(words("settings", "get", "app", "--key", "", stored: names) == names)
        #expect(words("settings", "get", "app", "--key=-d", stored: names) == ["--key=-dash"])
    }

    @Test func `behind exec come another program's words`() {
        #expect(words("exec", "--env", "A=b/c", "ls", "--a") == ["command 4"])
        #expect(words("exec", "--", "l") == ["command 3"])
        #expect(words("exec", "l") == ["command 2"])
        #expect(words("exec", "--") != ["command 2"])
    }

    @Test func `keys are asked for in their scope, with the beginning that is written`() {
        let server = FakeServer { [$0.result(#"{"values":{"theme":1,"th\u001b":2,"size":3},"rev":5}"#)] }
        let outcome = CapturedConsole().run(
            "completions", "next", "--socket", server.path, "settings", "get", "--domain", "app", "th")
        #expect(outcome.output == "words\ntheme\n" && outcome.status == .done)
        #expect(server.requests == [#"settings.list {"domain":"app","prefix":"th","limit":200}"#])
        let absent = CapturedConsole().run("completions", "next", "--socket", "/nonexistent", "docs", "list", "")
        #expect(absent.output == "words\n" && absent.errors == "" && absent.status == .done)
        let many = (0..<300).map { #"{"domain":"d\#($0)"}"# }.joined(separator: ",")
        let crowd = FakeServer { [$0.result(#"{"scopes":[\#(many)]}"#)] }
        let first = CapturedConsole().run("completions", "next", "--socket", crowd.path, "settings", "get", "")
        #expect(first.output.split(separator: "\n").count == 201)
    }

    @Test func `a daemon that talks on and does not answer is not waited for`() throws {
        guard Shell.has("python3") else {
            print("skipped: python3 is not installed; 'scripts/bootstrap test' installs it")
            return
        }
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); cd "$work"
            python3 - 2>/dev/null <<'PY' &
            import socket, time
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("kura.sock")
            listener.listen()
            connection = listener.accept()[0]
            while True:
                connection.sendall(b'{"jsonrpc":"2.0","method":"progress","params":{}}\\n')
                time.sleep(0.1)
            PY
            server=$!
            trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
            for _ in {1..6000}; do [[ -S kura.sock ]] && break; sleep 0.01; done
            timeout 60 kura completions next --socket kura.sock settings get '' 2>&1
            """)
        #expect(outcome.status == 0 && outcome.output == "words\n", "\(outcome)")
    }
}

/// The scripts in the shells that they are for, typed at as people do.
@Suite struct CompletionsTests {
    private static func script(_ shell: String) throws -> String {
        let outcome = CapturedConsole().run("completions", shell)
        try #require(outcome.status == .done)
        return outcome.output
    }

    private static func isThere(_ shell: String) -> Bool {
        if Shell.has(shell) { return true }
        print("skipped: \(shell) is not installed; 'scripts/bootstrap test' installs it")
        return false
    }

    @Test func `each shell takes its script`() throws {
        for shell in ["bash", "zsh", "fish"] where Self.isThere(shell) {
            let script = try Self.script(shell)
            let outcome = try Shell.run(
                "\(shell) -n /dev/fd/3 3<<'SCRIPT' 2>&1\n\(script)\nSCRIPT\n")
            #expect(outcome.status == 0 && outcome.output == "", "\(shell): \(outcome.output)")
            let broken = try Shell.run("\(shell) -n /dev/fd/3 3<<'SCRIPT' 2>&1\n\(script)\nif then (\nSCRIPT\n")
            #expect(broken.status != 0, "\(shell) takes anything")
        }
        #expect(CapturedConsole().run("completions", "csh").status == .usage)
        #expect(CapturedConsole().run("completions", "bsah").errors.contains("did you mean bash?"))
    }

    /// What is typed, and what the Tab key adds.
    private static let cases: [(typed: String, added: String)] = [
        ("kura setti", "ngs "), ("kura docs put-m", "any "), ("kura --socket kura.sock -q settings incr", "ement "),
        ("kura docs find countries --colu", "mns "), ("kura docs find countries --columns id,val", "ue "),
        ("kura --color alw", "ays "), ("kura --color=alw", "ays "), ("kura settings configure app --mode enf", "orce "),
        ("kura import --from=pl", "ist "), ("kura secrets audit ver", "ify "),
        ("kura restore back", "up.kurabackup "), ("kura restore --identity=back", "up.kurabackup "),
        ("kura man --output fold", "er/"), ("kura docs export countries back", "up.kurabackup "),
        ("kura settings get app the", "me "), ("kura docs get countries J", "P "), ("kura settings list my", "\\ app "),
        ("kura call settings.put domain=app val", "ue="), ("kura call settings.getM", "any "),
        ("kura exec --env A=b/c -- printen", "v "), ("kura exec --setting A=app/theme ls back", "up.kurabackup "),
    ]

    /// The same with quotes, for bash and zsh: what is added goes on with the one that is open, and closes it.
    private static let quoted: [(typed: String, added: String)] = [
        (#"kura settings list "my"#, #" app" "#), ("kura settings list 'my", " app' "),
        (#"kura settings get "my app" s"#, "ize "), (#"kura settings get it\'s s"#, "ize "),
        (#"kura settings get "it's" s"#, "ize "), (#"kura settings get odd a"#, #"\\b\$\(touch\ pwned\) "#),
        (#"kura settings get odd "a"#, #"\\b\$(touch pwned)" "#), ("kura settings get odd 'a", #"\b$(touch pwned)' "#),
        (#"kura settings list \~h"#, "ome "), (#"kura restore "back"#, #"up.kurabackup" "#),
    ]

    /// A directory with a daemon, something in it, and some files; `$KURA_SCRIPT` is the shell's script.
    private static func place(_ shell: String) -> String {
        """
        \(Shell.daemon)
        export HOME=$work
        mkdir folder; touch backup.kurabackup
        kura -q settings put app theme dark; kura -q settings put 'my app' size 3; kura -q docs put countries JP 1
        kura -q settings put "it's" size 3; kura -q settings put '~home' size 3
        kura -q settings put odd 'a\\b$(touch pwned)' 1
        kura completions \(shell) >_kura

        """
    }

    /// Types each line into an interactive shell on a terminal of its own and prints what the Tab key has made of it. The shell's prompt
    /// is `READY>`, and ^X shows the line between 1 and 2 and empties it.
    private static let typist = """
        import os, pty, re, select, sys
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", COLUMNS="400", LINES="100")
            os.execvp(sys.argv[1], sys.argv[1:])
        def until(mark):
            seen = b""
            while mark not in seen:
                if not select.select([terminal], [], [], 120)[0]: sys.exit("no %r in %r" % (mark, seen))
                try: seen += os.read(terminal, 65536)
                except OSError: sys.exit("ended with %r" % seen)
            return seen
        until(b"READY>")
        for line in sys.stdin.read().splitlines():
            os.write(terminal, line.encode() + b"\\t\\x18")
            print(re.findall(rb"\\x01(.*)\\x02", until(b"\\x02"), re.S)[-1].decode())
        os.write(terminal, b"exit\\n")
        """

    /// - Parameters:
    ///   - shell: which.
    ///   - setup: files that it reads when it starts.
    ///   - command: the interactive shell.
    /// - Throws: when a script cannot be run.
    private func type(_ shell: String, setup: String, command: String) throws {
        guard Self.isThere(shell), Self.isThere("python3") else { return }
        let cases = Self.cases + Self.quoted
        let outcome = try Shell.run(
            """
            \(Self.place(shell))
            cat >typist.py <<'PY'
            \(Self.typist)
            PY
            \(setup)
            cat >lines <<'LINES'
            \(cases.map(\.typed).joined(separator: "\n"))
            LINES
            python3 typist.py \(command) <lines 2>&1
            [[ ! -e pwned ]] || echo 'a name was run'
            """)
        let shown = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        try #require(shown.count == cases.count, "\(outcome.output)")
        for (found, wanted) in zip(shown, cases) { #expect(found == wanted.typed + wanted.added, "\(shell)") }
    }

    @Test func `bash completes what is typed`() throws {
        try type(
            "bash",
            setup: """
                cat >rc <<'RC'
                PS1='READY>'
                source ./_kura
                shown() { printf '\\001%s\\002' "$READLINE_LINE"; READLINE_LINE=''; READLINE_POINT=0; }
                bind -x '"\\C-x": shown'
                RC
                export INPUTRC=/dev/null
                """, command: "bash --noprofile --rcfile rc -i")
    }

    /// Autoloaded, as a package installs it: the very first Tab counts.
    @Test func `zsh completes what is typed`() throws {
        try type(
            "zsh",
            setup: """
                cat >.zshrc <<'RC'
                PROMPT='READY>'
                fpath=($PWD $fpath)
                autoload -Uz compinit
                compinit -u -D
                shown() { printf '\\001%s\\002' "$BUFFER"; BUFFER=''; }
                zle -N shown
                bindkey '^X' shown
                RC
                """, command: "env ZDOTDIR=$work zsh -o NO_GLOBAL_RCS -i")
    }

    /// As the help says to have it, in one's own file of settings.
    @Test func `zsh takes the script behind compinit`() throws {
        guard Self.isThere("zsh") else { return }
        let outcome = try Shell.run(
            """
            autoload -Uz compinit; compinit -u -D
            source <(kura completions zsh)
            print $_comps[kura]
            """, shell: "zsh -f")
        #expect(outcome.output == "_kura\n")
    }

    @Test func `fish completes what is typed`() throws {
        guard Self.isThere("fish") else { return }
        let asked = Self.cases.map { "complete -C '\($0.typed)'; echo =" }
        let outcome = try Shell.run(
            """
            \(Self.place("fish"))
            cat >lines.fish <<'LINES'
            source ./_kura
            \(asked.joined(separator: "\n"))
            LINES
            XDG_CONFIG_HOME=$work fish lines.fish
            """)
        let shown = outcome.output.split(separator: "=\n", omittingEmptySubsequences: false).dropLast()
        try #require(shown.count == Self.cases.count, "\(outcome.output)")
        for (found, wanted) in zip(shown, Self.cases) {
            let candidates = found.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
            // fish itself puts the space there, and backslashes where they are needed.
            var word = (wanted.typed.split(separator: " ").last ?? "") + wanted.added.replacing("\\", with: "")
            if word.last == " " { word.removeLast() }
            #expect(candidates == [String(word)], "\(wanted.typed)")
        }
    }

    @Test func `fish completes what has quotes`() throws {
        guard Self.isThere("fish") else { return }
        let outcome = try Shell.run(
            #"""
            \#(Self.place("fish"))
            touch 'my file'
            cat >lines.fish <<'LINES'
            source ./_kura
            complete -C 'kura settings list "my'
            complete -C 'kura settings list \'my'
            complete -C 'kura settings get my\\ app s'
            complete -C 'kura settings get odd "a'
            complete -C 'kura restore \'my'
            complete -C 'kura restore --identity=my\\ f'
            # fish would put a home in its place.
            complete -C 'kura settings list ' | string match '~*'
            complete -C 'kura settings list \\~'
            LINES
            XDG_CONFIG_HOME=$work fish lines.fish
            """#)
        let shown = outcome.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(
            shown == [
                "my app", "my app", "size", #"a\b$(touch pwned)"#, "my file", "--identity=my file", "~home",
            ])
    }
}

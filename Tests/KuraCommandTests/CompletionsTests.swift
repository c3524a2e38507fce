import Testing

@testable import KuraCommand

@Suite struct CompletionsTests {
    private static func script(_ shell: String) throws -> String {
        let outcome = CapturedConsole(catalogue: .extended).run("completions", shell)
        try #require(outcome.status == .done)
        return outcome.output
    }

    @Test func `each shell takes its script`() throws {
        for shell in ["bash", "zsh", "fish"] {
            guard Shell.has(shell) else {
                print("skipped: \(shell) is not installed")
                continue
            }
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

    /// What bash offers for the last of the words.
    private static func bash(_ words: String...) throws -> [String] {
        let line = (["kura"] + words).map { "'\($0)'" }.joined(separator: " ")
        let outcome = try Shell.run(
            """
            \(try script("bash"))
            COMP_WORDS=(\(line)); COMP_CWORD=\(words.count)
            _kura; printf '%s\\n' "${COMPREPLY[@]}"
            """)
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test func `bash completes nouns, verbs, options and words`() throws {
        #expect(try Self.bash("sett") == ["settings"])
        #expect(
            Set(try Self.bash("")).isSuperset(of: ["settings", "docs", "documents", "ping", "watch", "call", "help"]))
        #expect(try Self.bash("docs", "put") == ["put", "put-many"])
        #expect(try Self.bash("documents", "get-") == ["get-many"])
        #expect(try Self.bash("settings", "put", "--if") == ["--if-rev"])
        #expect(try Self.bash("settings", "put", "--so") == ["--socket"])
        #expect(try Self.bash("--socket", "/x", "settings", "inc") == ["increment"])
        #expect(try Self.bash("-q", "settings", "list", "app", "--al") == ["--all"])
        #expect(
            try Self.bash("watch", "--stores", "") == [
                "settings", "secrets", "documents", "models", "blobs", "storage",
            ])
        #expect(try Self.bash("records", "everything", "n", "--mode", "w") == ["warn"])
        #expect(try Self.bash("--color", "a") == ["auto", "always"])
        #expect(try Self.bash("call", "settings.getM") == ["settings.getMany"])
        #expect(try Self.bash("completions", "f") == ["fish"])
        #expect(try Self.bash("help", "exit") == ["exit-codes"])
        #expect(try Self.bash("settings", "put", "app", "") == [])
        #expect(try Self.bash("docs", "ed") == ["edit"])
        #expect(try Self.bash("documents", "find", "c", "--columns", "") == ["id", "value", "rev"])
        #expect(try Self.bash("import", "x", "--in") == ["--into"])
    }

    @Test func `fish completes nouns, verbs, options and words`() throws {
        guard Shell.has("fish") else {
            print("skipped: fish is not installed")
            return
        }
        let script = try Self.script("fish")
        func fish(_ line: String) throws -> [String] {
            let outcome = try Shell.run("\(script)\ncomplete -C '\(line)'\n", shell: "fish")
            return outcome.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        }
        #expect(try fish("kura sett") == ["settings"])
        #expect(try fish("kura docs put").sorted() == ["put", "put-many"])
        #expect(try fish("kura settings put --if") == ["--if-rev"])
        #expect(try fish("kura settings put app theme --if") == ["--if-rev"])
        #expect(try fish("kura --socket /x settings inc") == ["increment"])
        #expect(try fish("kura watch --stores ").sorted() == ["documents", "secrets", "settings"])
        #expect(try fish("kura --color a").sorted() == ["always", "auto"])
    }

    @Test func `zsh completes nouns, verbs and options`() throws {
        guard Shell.has("zsh") else {
            print("skipped: zsh is not installed")
            return
        }
        // The completion system wants a line editor: its two functions are stood in for, and say what they are given.
        func zsh(_ words: String...) throws -> [String] {
            let outcome = try Shell.run(
                """
                compdef() { }
                _describe() { local name=${@[-1]}; print -l -- ${(P)name%%:*}; }
                compadd() { shift; print -l -- $@; }
                _files() { print files; }
                \(try Self.script("zsh"))
                words=(kura \(words.map { "'\($0)'" }.joined(separator: " "))); CURRENT=\(words.count + 1)
                PREFIX=${words[CURRENT]}
                _kura
                """, shell: "zsh -f")
            return outcome.output.split(separator: "\n").map(String.init)
        }
        #expect(Set(try zsh("")).isSuperset(of: ["settings", "docs", "documents", "watch", "help"]))
        #expect(Set(try zsh("docs", "")).isSuperset(of: ["put", "put-many", "scopes"]))
        #expect(Set(try zsh("settings", "put", "-")).isSuperset(of: ["--if-rev", "--string", "--json"]))
        #expect(try zsh("records", "import", "c", "") == ["files"])
        #expect(try zsh("watch", "--stores", "") == ["settings", "secrets", "documents", "models", "blobs", "storage"])
    }
}

import KuraProtocol
import Testing

@testable import KuraCommand

/// Secrets on the command line: never among the arguments.
@Suite struct SecretsTests {
    private func params(
        _ arguments: String..., input: String = "", asks: Bool = false, answers: [String?] = []
    ) throws(Failure) -> String {
        var reader = InvocationReader(arguments, .standard)
        try reader.read()
        guard case .verb(let verb) = reader.invocation.target else { throw .usage("no verb") }
        var left = answers[...]
        let read = { () throws(Failure) -> [UInt8] in Array(input.utf8) }
        let secrets = SecretReader(asks: asks, input: read) { _ in (left.popFirst() ?? nil).map { Array($0.utf8) } }
        let parameters = try Parameters(reader.invocation, of: verb, input: read, secrets: secrets)
        return String(decoding: parameters.json, as: UTF8.self)
    }

    private func fault(_ body: () throws(Failure) -> String) -> String {
        do throws(Failure) { return "made \(try body())" } catch { return error.message }
    }

    @Test func `a secret is a line of standard input, and only when it is asked for or must be there`() throws {
        #expect(try params("secrets", "unlock", input: "words\n") == "")
        #expect(try params("secrets", "unlock", "--passphrase", input: "words\n") == #"{"passphrase":"words"}"#)
        #expect(try params("secrets", "unlock", "--passphrase", input: "wo\"r\nds") == #"{"passphrase":"wo\"r\nds"}"#)
        #expect(
            try params("secrets", "change-passphrase", input: "old words\nnew words\n")
                == #"{"passphrase":"old words","newPassphrase":"new words"}"#)
        #expect(
            try params("secrets", "add-slot", "passphrase", "--new-passphrase", "--label", "me", input: "x")
                == #"{"kind":"passphrase","newPassphrase":"x","label":"me"}"#)
        #expect(
            fault { () throws(Failure) in try params("secrets", "change-passphrase", input: "one\n") }
                == "standard input has 1 lines, and 2 are needed: PASSPHRASE, NEW-PASSPHRASE")
    }

    @Test func `as an argument it is refused, however it is written`() {
        #expect(
            fault { () throws(Failure) in try params("secrets", "unlock", "--passphrase=words") }
                == "--passphrase takes no value: everybody on this host can read arguments")
        #expect(
            fault { () throws(Failure) in try params("secrets", "unlock", "--passphrase", "words") }
                .hasPrefix("secrets unlock does not know what to do with"))
        let console = CapturedConsole()
        for word in ["passphrase=words", "passphrase:=\"words\""] {
            let outcome = console.run("call", "secrets.unlock", word)
            #expect(outcome.status == .usage && outcome.errors.contains("is a secret, and no argument"), "\(outcome)")
        }
        #expect(!console.run("call", "secrets.unlock", "passphrase=@/nonexistent").errors.contains("no argument"))
        // What is only asked about is an argument as well.
        let asked = #"{"service":"a","account":"b","secret":"x"}"#
        for words in [
            ["session", "can", "secrets.put", asked],
            ["call", "session.can", "method=secrets.put", "params:=" + asked],
        ] {
            let outcome = console.run(words)
            #expect(outcome.status == .usage && outcome.errors.contains("is a secret, and no argument"), "\(outcome)")
        }
    }

    @Test func `on a terminal it is asked for, a new one twice`() throws {
        #expect(
            try params("secrets", "change-passphrase", asks: true, answers: ["old", "new", "new"])
                == #"{"passphrase":"old","newPassphrase":"new"}"#)
        #expect(
            fault { () throws(Failure) in
                try params("secrets", "change-passphrase", asks: true, answers: ["old", "new", "nwe"])
            } == "the two are not the same")
        #expect(
            fault { () throws(Failure) in
                try params("secrets", "unlock", "--passphrase", input: "words", asks: true, answers: [nil])
            } == "no passphrase was given")
    }

    @Test func `standard input is read once`() {
        #expect(
            fault { () throws(Failure) in
                try params("secrets", "add-slot", "passphrase", "--new-passphrase", "--label", "-", input: "x")
            } == "standard input can be read once, and a secret comes from there")
    }

    @Test func `help and completions show a secret without a value`() {
        let help = CapturedConsole(width: 200).run("secrets", "unlock", "--help").output
        #expect(help.contains("[--passphrase]") && help.contains("never an argument"))
        #expect(!CapturedConsole().run("secrets", "change-passphrase", "--help").output.contains("old words"))
        let options = CapturedConsole().run("completions", "next", "secrets", "unlock", "--pass").output
        #expect(options.hasPrefix("words\n--passphrase\t"))
        // What stands behind it is no value of it: the next word is an option again.
        let next = CapturedConsole().run("completions", "next", "secrets", "unlock", "--passphrase", "--sock").output
        #expect(next.contains("--socket"))
    }
}

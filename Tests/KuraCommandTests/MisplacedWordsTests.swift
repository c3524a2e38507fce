import Testing

@testable import KuraCommand

/// Words that stand where something else is read: nothing is asked, and what was probably meant is named.
@Suite struct MisplacedWordsTests {
    /// What the daemon is asked, or what is said in its stead.
    private func asked(_ arguments: [String]) -> String {
        let server = FakeServer { [$0.result(#"{"documents":[{"id":"a","value":1,"rev":1}],"rev":1,"deleted":0}"#)] }
        let outcome = CapturedConsole().run(["--socket", server.path] + arguments)
        guard let request = server.requests.first else { return "\(outcome.status): \(outcome.errors)" }
        return String(request.drop { $0 != "{" })
    }

    private static let refused: [(command: [String], told: String)] = [
        (["docs", "find", "c", "type=x", "name:desc"], "'name:desc' is no field"),
        (["docs", "find", "c", "name:desc"], "hint: did you mean --sort name:desc?"),
        (["docs", "find", "c", "type=x", "n:asc"], "hint: did you mean --sort n:asc?"),
        (["docs", "explain", "c", "a=1", "n:desc"], "hint: did you mean --sort n:desc?"),
        (["docs", "find", "c", "name"], "hint: did you mean --sort name?"),
        (["docs", "find", "c", #"["name"]"#], #"hint: did you mean --sort '["name"]'?"#),
        (["docs", "find", "c", #"{"n":"desc"}"#], "hint: did you mean --sort n:desc? If not, write n=desc"),
        (["docs", "find", "c", "--where", #"{"n":"desc","m":"asc"}"#], "did you mean --sort n:desc --sort m:asc?"),
        (["docs", "find", "c", "--field", "n,m"], "hint: did you mean --field n --field m?"),
        (["docs", "find", "c", "--fields", "n,m"], "'n,m' is the name of one field"),
        (["docs", "find", "c", "--sort", "n,m"], "hint: did you mean --sort n --sort m?"),
        (["docs", "find", "c", "a=1", "n,m"], "hint: did you mean --sort n --sort m?"),
        (
            ["docs", "aggregate", "c", "a>1", "continent,region"],
            "did you mean --group-by continent --group-by region?"
        ),
        (["docs", "find", "c", "--expand", "a,b"], "hint: did you mean --expand a --expand b?"),
        (
            ["docs", "delete-many", "c", "n=a"],
            "hint: did you mean --where n=a? An id that looks so is written --id n=a"
        ),
        (["docs", "delete-many", "c", "x", "n<5"], "hint: did you mean --where 'n<5'?"),
        (["docs", "delete-many", "c", #"{"n":"a"}"#], "'{\"n\":\"a\"}' stands where an id does"),
        (["docs", "add-index", "c", "a,b"], "hint: did you mean a b?"),
        (["docs", "add-index", "c", "a", "state=todo"], "hint: did you mean --where state=todo?"),
        (["backups", "prune", "b1"], "HOURLY is a whole number, not 'b1'\nhint: did you mean --name b1?"),
        (["backups", "prune", "3", "b 2"], "hint: did you mean --name 'b 2'?"),
    ]

    @Test(arguments: refused.indices) func `a word that is no field, no condition and no id is refused`(index: Int) {
        let (command, told) = Self.refused[index]
        let answer = asked(command)
        #expect(answer.hasPrefix("usage: ") && answer.contains(told), "\(command): \(answer)")
    }

    @Test func `what was meant can be said, and so can what looks like it`() {
        let taken: [([String], String)] = [
            (["find", "c", "--sort", "name:desc"], #""sort":[{"name":"desc"}]"#),
            (["find", "c", "a=1", "--sort", "a.b:asc", "--sort", "n"], #""where":{"a":1},"sort":["a.b","n"]"#),
            (["find", "c", "--sort", #"{"n":"desc"}"#], #""sort":[{"n":"desc"}]"#),
            (["find", "c", "a=1", "name", #"{"n":"desc"}"#], #""where":{"a":1},"sort":["name",{"n":"desc"}]"#),
            (["find", "c", "--sort", #"["name:desc"]"#], #""sort":["name:desc"]"#),
            (["find", "c", "--string", "--sort", "name:desc"], #""sort":["name:desc"]"#),
            (["find", "c", "at=12:desc"], #""where":{"at":"12:desc"}"#),
            (["find", "c", "n=desc"], #""where":{"n":"desc"}"#),
            (["find", "c", #"{"n":"desc","a":1}"#], #""where":{"n":"desc","a":1}"#),
            (["find", "c", "--fields", #"["n,m"]"#], #""fields":["n,m"]"#),
            (["delete-many", "c", "--where", #"{"n":"desc"}"#], #""where":{"n":"desc"}"#),
            (["delete-many", "c", "--id", "n=a", "--id", "{x}"], #""ids":["n=a","{x}"]"#),
            (["delete-many", "c", "a", "b:desc", "c,d"], #""ids":["a","b:desc","c,d"]"#),
        ]
        for (words, wanted) in taken {
            #expect(asked(["docs"] + words) == "{\"collection\":\"c\",\(wanted)}", "\(words)")
        }
    }

    @Test func `help names fields as such`() {
        let help = CapturedConsole(width: 200).run("docs", "find", "--help").output
        #expect(help.contains("[CONDITION…] [FIELD…]") && help.contains("--field FIELD"), "\(help)")
        #expect(help.contains("As an option, FIELD:desc is one of the latter."))
    }
}

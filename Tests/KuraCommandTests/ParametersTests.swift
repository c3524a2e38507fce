import KuraClient
import KuraProtocol
import Testing

@testable import KuraCommand

/// The verb and the parameters that a command line makes.
private func request(
    _ arguments: [String], input: String = "", _ catalogue: Catalogue = .extended
) throws(Failure) -> (verb: Verb, params: String) {
    var reader = InvocationReader(arguments, catalogue)
    try reader.read()
    guard case .verb(let verb) = reader.invocation.target else { throw .usage("no verb") }
    let parameters = try Parameters(reader.invocation, of: verb) { () throws(Failure) in Array(input.utf8) }
    return (verb, String(decoding: parameters.json, as: UTF8.self))
}

private func params(_ arguments: String..., input: String = "") throws -> String {
    try request(arguments, input: input).params
}

private func fault(_ arguments: String..., input: String = "") -> String? {
    do throws(Failure) {
        let made = try request(arguments, input: input)
        return "made \(made.params)"
    } catch {
        return error.status == .usage ? error.message + (error.hint.map { " | \($0)" } ?? "") : nil
    }
}

@Suite struct ExampleTests {
    @Test func `every verb's example makes the request that the table declares`() throws {
        for verb in Catalogue.extended.verbs {
            let words = CommandExample.words(verb)
            let secrets = verb.parameters.filter { $0.form == .secret }.compactMap {
                JSONObject(Array(verb.method.example.utf8))?[$0.field.name].flatMap(JSONObject.string)
            }
            #expect(secrets.allSatisfy { !words.contains($0) })
            let made = try request(words, input: secrets.joined(separator: "\n"))
            #expect(made.verb.method.name == verb.method.name)
            let wanted = JSONObject(Array(verb.method.example.utf8))?.entries ?? []
            let found = JSONObject(Array(made.params.utf8))?.entries ?? []
            #expect(found.map(\.name).sorted() == wanted.map(\.name).sorted(), "\(words)")
            for (name, value) in wanted {
                // Escapes may be spelled otherwise: both are read to the same text.
                let other = found.first { $0.name == name }?.value ?? []
                #expect(meaning(other) == meaning(value), "\(words): \(name)")
            }
        }
    }

    @Test func `every method that a daemon tells of has a verb of its own, which no tool hides`() throws {
        let outcome = try Shell.run("\(Shell.daemon)\nkura discover --json | jq -r '.methods[].name'")
        let names = outcome.output.split(separator: "\n").map(String.init)
        #expect(names.count >= Catalogue.standard.verbs.count && names.count > 100, "\(outcome.output)")
        for name in names {
            let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
            var reader = InvocationReader([parts[0], parts[1].kebabCase], .standard)
            try reader.read()
            guard case .verb(let verb) = reader.invocation.target, verb.method.name == name else {
                Issue.record("\(name) is reached by no verb")
                continue
            }
        }
    }

    private func meaning(_ json: [UInt8]) -> String {
        String(decoding: json, as: UTF8.self).replacing("\\u00e9", with: "é")
    }

    @Test func `a shell reads the example's line as the same words`() throws {
        let verbs = Catalogue.extended.verbs
        let lines = verbs.map { "printf '%s\\036' \(CommandExample.line($0)); printf '\\035'" }
        let read = try Shell.run(lines.joined(separator: "\n")).output.split(separator: "\u{1D}").map {
            $0.split(separator: "\u{1E}", omittingEmptySubsequences: false).dropLast().map(String.init)
        }
        #expect(read.count == verbs.count)
        for (words, verb) in zip(read, verbs) { #expect(words == ["kura"] + CommandExample.words(verb)) }
    }

    @Test func `the table leaves no two ways to read a word`() {
        let catalogue = Catalogue.standard
        let heads =
            catalogue.nouns.flatMap { [$0.name, $0.shortName].compactMap(\.self) } + catalogue.aliases.map(\.word)
            + Catalogue.commands.map(\.word)
        #expect(Set(heads).count == heads.count)
        #expect(Set(catalogue.verbs.map(\.path)).count == catalogue.verbs.count)
        let global = GlobalOptions.all.map(\.name)
        for verb in catalogue.verbs {
            let options = verb.parameters.flatMap(\.options) + verb.ownOptions.map(\.name)
            #expect(Set(options).count == options.count, "\(verb.path): \(options)")
            // An application's version is a parameter of session.hello, and kura's own can be asked for elsewhere.
            #expect(Set(options).isDisjoint(with: Set(global).subtracting(["version"])), "\(verb.path): \(options)")
            #expect(verb.parameters.allSatisfy { verb.parameter(option: $0.options[0]) != nil || $0.isFile })
        }
    }
}

@Suite struct PlacingTests {
    @Test func `arguments stand in the documented order, and what may be left out is filled from the left`() throws {
        #expect(try params("docs", "put", "notes", "1") == #"{"collection":"notes","value":1}"#)
        #expect(try params("docs", "put", "notes", "a", "1") == #"{"collection":"notes","id":"a","value":1}"#)
        #expect(try params("settings", "get", "app", "k", "5") == #"{"domain":"app","key":"k","default":5}"#)
        #expect(try params("settings", "increment", "app", "k", "-5") == #"{"domain":"app","key":"k","by":-5}"#)
    }

    @Test func `what is given by name leaves its place to the next`() throws {
        let wanted = #"{"domain":"app","key":"theme","value":"dark"}"#
        #expect(try params("settings", "put", "app", "theme", "dark") == wanted)
        #expect(try params("settings", "put", "--domain", "app", "theme", "dark") == wanted)
        #expect(try params("settings", "put", "dark", "--key=theme", "--domain", "app") == wanted)
        #expect(try params("settings", "put", "--value=dark", "app", "--key", "theme") == wanted)
        #expect(try params("settings.put", "app", "theme", "dark") == wanted)
    }

    @Test func `conditions and pages have no place, so that a word too many is refused`() {
        #expect(
            fault("settings", "put", "app", "k", "a", "b")?.hasPrefix("settings put does not know what to do") == true)
        #expect(fault("settings", "delete", "app", "k", "3")?.contains("'3' | usage: kura settings delete") == true)
        #expect(fault("settings", "list", "app", "p", "5")?.contains("'5'") == true)
    }

    @Test func `what is missing is named`() {
        #expect(
            fault("settings", "put", "app")?.hasPrefix(
                "settings put needs KEY and VALUE | usage: kura settings put DOMAIN KEY VALUE [--if-rev N]") == true)
        #expect(fault("settings", "get-many", "app")?.hasPrefix("settings get-many needs KEY |") == true)
        #expect(fault("docs", "put", "--id", "a", "--value", "1")?.hasPrefix("docs put needs COLLECTION |") == true)
    }

    @Test func `a list takes the words that are left, its option again and again, in the singular too, or JSON`() throws
    {
        let wanted = #"{"domain":"app","keys":["a","b"]}"#
        #expect(try params("settings", "get-many", "app", "a", "b") == wanted)
        #expect(try params("settings", "get-many", "app", "--key", "a", "--keys", "b") == wanted)
        #expect(try params("settings", "get-many", "app", #"["a", "b"]"#) == wanted)
        #expect(try params("settings", "get-many", "app", "-", input: "a\nb\n") == wanted)
        #expect(try params("settings", "get-many", "app", "-", input: #"["a","b"]"#) == wanted)
        #expect(
            try params("docs", "put-many", "c", "-", input: "{\"value\":1}\n\n{\"value\":2}\n")
                == #"{"collection":"c","documents":[{"value":1},{"value":2}]}"#)
        #expect(fault("settings", "get", "app", "k", "--key", "x", "--key", "y") == "--key is given twice")
    }

    @Test func `an object takes members, or JSON`() throws {
        #expect(
            try params("settings", "put-many", "app", "a=dark", "b=5", "c=", "--delete", "x", "--delete", "y")
                == #"{"domain":"app","values":{"a":"dark","b":5,"c":""},"delete":["x","y"]}"#)
        #expect(try params("settings", "put-many", "app", #"{"a": 1}"#) == #"{"domain":"app","values":{"a":1}}"#)
        #expect(fault("settings", "put-many", "app", "a")?.hasPrefix("'a' is no member") == true)
        #expect(fault("settings", "put-many", "app", "a=1", "a=2") == "'a' is given twice")
        #expect(fault("settings", "put-many", "app", "{1}")?.contains("this is none") == true)
    }

    @Test func `flags, words and a hidden global option`() throws {
        let wanted = #"{"name":"n","number":1,"mode":"warn","isDry":true,"version":"2"}"#
        #expect(try params("records", "everything", "n", "1", "warn", "--is-dry", "--version", "2") == wanted)
        #expect(try params("records", "everything", "n", "1", "--no-is-dry").contains(#""isDry":false"#))
        #expect(try params("records", "everything", "n", "1", "--is-dry=false").contains(#""isDry":false"#))
        #expect(fault("records", "everything", "n", "1", "--is-dry=5")?.hasPrefix("--is-dry takes no value") == true)
        #expect(
            fault("records", "everything", "n", "1", "wran")
                == "MODE is one of warn, enforce, not 'wran' | did you mean warn?")
        #expect(fault("records", "everything", "n", "dark") == "NUMBER is a whole number, not 'dark'")
        #expect(fault("records", "everything", "n", "1.5") == "NUMBER is a whole number, not '1.5'")
        #expect(fault("records", "everything", "n", "\"1\"") == "NUMBER is a whole number, not '\"1\"'")
    }

    @Test func `a file is a place of its own, and goes with the request as fd`() throws {
        #expect(
            try params("records", "import", "c", "data.json", "--id", "alpha_2")
                == #"{"collection":"c","fd":true,"idField":"alpha_2"}"#)
        #expect(try params("records", "import", "c", "--path", "/x") == #"{"collection":"c","path":"/x"}"#)
    }

    @Test func `attachments are read from files and written to them`() throws {
        let named = #""collection":"cards","id":"7","name":"front.png""#
        #expect(
            try params("docs", "attach", "cards", "7", "front.png", "a.png", "--content-type", "image/png")
                == "{\(named),\"contentType\":\"image/png\",\"fd\":true}")
        #expect(try params("docs", "attach", "cards", "7", "front.png", "-") == "{\(named),\"fd\":true}")
        #expect(
            try params("docs", "attach", "cards", "7", "front.png", "--data", "aGk=") == "{\(named),\"data\":\"aGk=\"}")
        #expect(try params("docs", "attachment", "cards", "7", "front.png") == "{\(named)}")
        #expect(try params("docs", "attachment", "cards", "7", "front.png", "b.png") == "{\(named),\"as\":\"fd\"}")
        #expect(
            try params("docs", "attachment", "cards", "7", "front.png", "--file", "-") == "{\(named),\"as\":\"fd\"}")
    }

    @Test func `what must be there has a place`() throws {
        #expect(
            try params("docs", "increment", "pages", "home", "visits.today", "2")
                == #"{"collection":"pages","id":"home","path":"visits.today","by":2}"#)
        #expect(
            try params("docs", "increment", "pages", "home", "visits")
                == #"{"collection":"pages","id":"home","path":"visits"}"#)
    }
}

@Suite struct ValueTests {
    private func value(_ words: String..., input: String = "") throws -> String {
        let json = try request(["settings", "put", "a", "k"] + words, input: input).params
        return String(decoding: JSONObject(Array(json.utf8))?["value"] ?? [], as: UTF8.self)
    }

    @Test func `a value is JSON when it is, and text when it is not`() throws {
        let cases = [
            "5": "5", "-5": "-5", "1.50e3": "1.50e3", "true": "true", "null": "null", "\"5\"": "\"5\"",
            " { \"a\" : [ 1 ] } ": "{\"a\":[1]}", "dark": "\"dark\"", "0042": "\"0042\"", "1.2.3": "\"1.2.3\"",
            "True": "\"True\"", "": "\"\"", "a\"b": "\"a\\\"b\"", "2026-01-01": "\"2026-01-01\"",
        ]
        for (word, json) in cases { #expect(try value(word) == json, "\(word)") }
    }

    @Test func `what begins like JSON and is none is refused, and --string takes it`() throws {
        for word in ["{\"a\":1", "[1,]", "\"open", " {a}", #"{"a":1,"a":2}"#] {
            let message = fault("settings", "put", "a", "k", word)
            #expect(message?.hasPrefix("VALUE begins like JSON and is none: ") == true, "\(word)")
            #expect(message?.hasSuffix("--string takes it as text") == true)
        }
        #expect(try value("{\"a\":1", "--string") == #""{\"a\":1""#)
        #expect(try value("5", "--string") == "\"5\"")
    }

    @Test func `standard input comes without its last line end, and once`() throws {
        #expect(try value("-", input: "dark\n") == "\"dark\"")
        #expect(try value("-", input: "{\n\"a\": 1\n}\n") == "{\"a\":1}")
        #expect(try value("-", input: "one\ntwo\r\n") == "\"one\\ntwo\"")
        #expect(try value("-", "--string", input: "5\n") == "\"5\"")
        #expect(try params("settings", "get", "-", "k", input: "app\n") == #"{"domain":"app","key":"k"}"#)
        #expect(fault("settings", "put", "-", "k", "-")?.hasPrefix("'-' stands twice") == true)
    }

    @Test func `behind two dashes nothing is an option`() throws {
        #expect(try value("--", "--json") == "\"--json\"")
        #expect(try params("settings", "get", "--", "-q", "--x") == #"{"domain":"-q","key":"--x"}"#)
    }
}

@Suite struct SuggestionTests {
    @Test func `nouns, verbs, options and methods that are nearly right are asked about`() {
        #expect(fault("setings", "get") == "unknown command 'setings' | did you mean settings?")
        #expect(fault("doc", "get") == "unknown command 'doc' | did you mean docs?")
        #expect(fault("pign") == "unknown command 'pign' | did you mean ping?")
        #expect(fault("settings", "gett") == "settings has no verb 'gett' | did you mean get?")
        #expect(fault("settings.gett") == "settings has no verb 'gett' | did you mean get?")
        #expect(
            fault("settings", "get", "--explian") == "settings get has no option --explian | did you mean --explain?")
        #expect(fault("settings", "get", "--jsno") == "settings get has no option --jsno | did you mean --json?")
        #expect(fault("--sokcet=x", "ping") == "unknown option --sokcet | did you mean --socket?")
        #expect(CapturedConsole().run("call", "settings.gte").errors.contains("did you mean settings.get?"))
        #expect(CapturedConsole().run("help", "exit-code").errors.contains("did you mean exit-codes?"))
    }

    @Test func `what is like nothing gets the list, and a verb alone its nouns`() {
        #expect(fault("xyzzy") == "unknown command 'xyzzy' | 'kura --help' lists the commands")
        #expect(fault("settings", "xyzzy")?.contains("its verbs: get, get-many,") == true)
        for noun in ["settings", "secrets", "docs"] {
            #expect(fault("get", "app")?.contains("'kura \(noun) get'") == true)
        }
        #expect(fault("settings", "get", "--xyzzy")?.contains("'kura settings get --help' lists them") == true)
    }

    @Test func `options are checked as they are read`() {
        #expect(fault("ping", "--socket") == "--socket needs a value")
        #expect(fault("ping", "--json=1") == "--json takes no value")
        #expect(fault("ping", "--json", "--ndjson") == "--json and --ndjson exclude each other")
        #expect(fault("ping", "--color", "red") == "--color takes auto, always or never, not 'red'")
        #expect(fault("ping", "--timeout", "soon")?.hasPrefix("--timeout takes seconds") == true)
        #expect(fault("ping", "--timeout", "-1")?.hasPrefix("--timeout takes seconds") == true)
        #expect(fault("ping", "-x")?.hasPrefix("storage ping has no option -x") == true)
    }
}

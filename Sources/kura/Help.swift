import KuraClient
import KuraProtocol

/// What `--help` and `help` print, made from the method table.
enum Help {
    static func general() -> String {
        let stores = Method.Store.allCases.map { "  \($0.rawValue): \($0.summary)\n" + table(methods(of: $0)) }
        return """
            kura - talks to the storage service of this host

            usage: kura call METHOD [name=text …] [name:=json …]
                   kura status
                   kura help [METHOD | STORE]

            parameters of a call:
              name=text       a string, whatever it looks like
              name:=json      any JSON value: a number, true, null, an object
              name=@FILE      the file's content as a string; name:=@FILE as JSON; '-' for FILE is standard input
              -               all parameters as one JSON object from standard input

            options, anywhere; what follows '--' is no option:
              --socket PATH   the daemon's socket   [$KURA_SOCKET; root: /run/kura/kura.sock,
                              else $XDG_RUNTIME_DIR/kura/kura.sock]
              --json          results and errors as one line of JSON, also on a terminal
              -q, --quiet     print no result
              -h, --help      this text; with 'call METHOD' the method's
              --version       print the version

            On a terminal results are indented, and status is a summary; elsewhere both are one line of JSON.
            Errors go to standard error.

            exit status:
              0  done            2  bad usage, nothing was sent          5  may succeed later as it is (noSpace,
              1  refused         3  no daemon, or it went or stayed         overloaded, shuttingDown)
              4  conflict           silent before it answered            6  outcome unknown: read, then decide

            methods ('kura help METHOD' tells more):
            \(stores.joined(separator: "\n"))
            example:
              kura call settings.put domain=app key=theme value=dark
              kura call documents.put collection=notes value:='{"text":"Dear reader"}'

            """
    }

    /// Help on what was named: nothing, a command, a store or a method.
    static func show(_ words: [String]) throws(Failure) {
        guard words.count <= 1 else { throw .usage("help takes one method") }
        guard let word = words.first, !["call", "status", "help"].contains(word) else { return Output.write(general()) }
        if let store = Method.Store(rawValue: word) {
            return Output.write("\(store.rawValue): \(store.summary)\n\(table(methods(of: store)))")
        }
        Output.write(MethodHelp.text(try CallCommand.method(named: word)))
    }

    private static func methods(of store: Method.Store) -> [[String]] {
        Method.all.filter { $0.store == store }.map { [$0.name, $0.summary] }
    }

    /// Rows of cells, indented; all columns but the last one are as wide as their widest cell.
    static func table(_ rows: [[String]], indent: Int = 4) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { index, cell in
                index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
            }
            return String(repeating: " ", count: indent) + cells.joined(separator: "  ") + "\n"
        }.joined()
    }
}

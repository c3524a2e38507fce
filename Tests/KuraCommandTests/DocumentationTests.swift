import Glibc
import Testing

@testable import KuraCommand

/// proto-docs/cli.md, run.
@Suite struct DocumentationTests {
    private static func page() throws -> String {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        return try Shell.run("cat '\(root)/proto-docs/cli.md'").output
    }

    /// The commands of the page's `console` blocks, with what each is said to print.
    private static func exchanges(_ page: String) -> [(command: String, printed: String)] {
        var exchanges: [(command: String, printed: String)] = []
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                exchanges.append((String(line.dropFirst(2)), ""))
            } else if isInside, line.hasPrefix("> "), !exchanges.isEmpty, exchanges[exchanges.count - 1].printed.isEmpty
            {
                exchanges[exchanges.count - 1].command += "\n" + line.dropFirst(2)
            } else if isInside, !exchanges.isEmpty {
                exchanges[exchanges.count - 1].printed += line + "\n"
            }
        }
        return exchanges
    }

    @Test func `every command on the page prints what the page says`() throws {
        let exchanges = Self.exchanges(try Self.page())
        #expect(exchanges.count > 20)
        let commands = exchanges.map { "{ \($0.command)\n} 2>&1; printf '\\036'" }
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            export KURA_UNDO_FILE=$work/undo
            \(commands.joined(separator: "\n"))
            """)
        let printed = outcome.output.split(separator: "\u{1E}", omittingEmptySubsequences: false).map(String.init)
        try #require(printed.count >= exchanges.count, "\(outcome.output)")
        for ((command, wanted), found) in zip(exchanges, printed) { #expect(found == wanted, "\(command)") }
    }

    @Test func `the page has every exit code with its meaning`() throws {
        let page = try Self.page()
        for code in ExitCode.allCases {
            #expect(page.contains("\n| \(code.rawValue) | \(code.meaning) |\n"), "\(code)")
        }
    }
}

import KuraProtocol
import Testing

@testable import KuraCommand

/// `kura undo`, and what it remembers.
@Suite struct UndoCommandTests {
    @Test func `the last changes are undone one after the other, and nobody else's`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>told; export KURA_UNDO_FILE=$work/undo
            kura undo -q; echo "$?"
            kura -q docs put notes rice '{"g":200}'; kura -q settings put app theme dark
            # Somebody else's, which the command finds as it is to be.
            KURA_UNDO_FILE= kura -q settings put app size 5
            sleep 2; kura settings put app size 5 | jq .rev
            kura -q docs delete notes rice
            kura undo --list | jq -c '[.rev,.method]'
            kura undo --dry-run | jq -c '[.undone,.dryRun]'
            kura docs get notes rice -q; echo "$?"
            kura undo | jq -c '[.items[0].done,.rev]'; kura docs get notes rice
            # The command before changed nothing.
            kura undo | jq -c '[.items[0].key,.items[0].done]'; kura settings get app theme -q; echo "$?"
            kura undo | jq -c '[.items[0].key,.items[0].done]'; kura docs count notes; kura settings get app size
            kura undo; echo "$?"
            # An undo is a revision.
            kura undo 7 | jq -c '[.items[0].key,.items[0].done]'; kura undo --list | jq -c '[.rev,.method]'
            kura -q secrets put s a <<<x; kura undo; echo "$?"
            kura -q settings put app theme light; KURA_UNDO_FILE= kura -q settings put app theme red
            kura undo; echo "$?"; kura undo 0; echo "$?"; kura undo --list now; echo "$?"
            echo ---; cat told
            """)
        let parts = outcome.output.split(separator: "---\n", maxSplits: 1).map(String.init)
        try #require(parts.count == 2, "\(outcome.output)")
        let wanted = [
            "7", "3", #"[4,"documents.delete"]"#, #"[3,"settings.put"]"#, #"[2,"settings.put"]"#,
            #"[1,"documents.put"]"#,
            "[1,true]", "7", #"["restored",5]"#, #"{"g":200}"#, #"["theme","deleted"]"#, "7", #"["rice","deleted"]"#,
            "0", "5", "7", #"["rice","restored"]"#, "1", "4", "2", "2",
        ]
        let lines = parts[0].split(separator: "\n").map(String.init)
        for (found, line) in zip(lines, wanted) { #expect(found == line) }
        #expect(parts[1].contains("there is nothing to undo"), "\(parts[1])")
        #expect(parts[1].contains("your last command, secrets put, cannot be undone"), "\(parts[1])")
        #expect(parts[1].contains("your last command, settings put at revision"), "\(parts[1])")
    }

    // MARK: What is remembered

    private func memory(_ path: String, _ socket: String = "/s") -> UndoMemory? {
        UndoMemory({ $0 == "KURA_UNDO_FILE" ? path : nil }, socket: socket)
    }

    private func temporaryPath() throws -> String {
        try Shell.run("printf %s \"$(mktemp -d)\"").output + "/undo"
    }

    @Test func `each socket has its own, and what is undone is not undone again`() throws {
        let path = try temporaryPath()
        let put = try #require(Catalogue.standard.verbs.first { $0.method.name == "settings.put" }?.method)
        let mine = try #require(memory(path)), other = try #require(memory(path, "/other"))
        for rev in 1...3 { mine.note(put, [], Array("{\"rev\":\(rev)}".utf8), from: 0) }
        other.note(put, [], Array("{\"rev\":9}".utf8), from: 0)
        mine.note(put, [], Array("{\"rev\":4,\"dryRun\":true}".utf8), from: 0)
        #expect(mine.entries.map(\.rev) == [3, 2, 1])
        mine.note(put, [], Array("{\"rev\":5}".utf8), from: 0)
        mine.note(undone: 3, by: 5)
        #expect(mine.entries.map(\.rev) == [2, 1])
        #expect(other.entries.map(\.rev) == [9])
        #expect(memory("") == nil)
    }

    @Test func `what changed nothing is not noted, and what cannot be undone is noted as such`() throws {
        let memory = try #require(self.memory(temporaryPath()))
        func note(_ name: String, _ params: String, _ result: String) throws {
            let method = try #require(Catalogue.standard.verbs.first { $0.method.name == name }?.method)
            memory.note(method, Array(params.utf8), Array(result.utf8), from: 0)
        }
        try note("settings.import", "{\"dryRun\":true}", "{\"rev\":1,\"added\":1,\"changed\":0}")
        try note("settings.import", "{}", "{\"rev\":2,\"added\":0,\"changed\":0,\"removed\":0}")
        try note("documents.deleteMany", "{}", "{\"deleted\":0,\"rev\":3}")
        try note("documents.delete", "{}", "{\"deleted\":false,\"rev\":3}")
        #expect(memory.entries.isEmpty)
        try note("documents.deleteMany", "{}", "{\"deleted\":9000,\"slices\":9,\"rev\":4}")
        try note("documents.purge", "{}", "{\"purged\":2,\"rev\":4}")
        try note("secrets.put", "{}", "{\"rev\":5,\"version\":1}")
        #expect(memory.entries.map(\.rev) == [0, 0, 4])
        #expect(memory.entries.map(\.hasOthers) == [false, false, true])
    }

    @Test func `no home directory is made`() throws {
        let home = try Shell.run("printf %s \"$(mktemp -d)\"").output + "/none"
        let put = try #require(Catalogue.standard.verbs.first { $0.method.name == "settings.put" }?.method)
        let memory = try #require(UndoMemory({ $0 == "HOME" ? home : nil }, socket: "/s"))
        memory.note(put, [], Array("{\"rev\":1}".utf8), from: 0)
        #expect(try Shell.run("test -e \(home)").status != 0)
        _ = try Shell.run("mkdir \(home)")
        memory.note(put, [], Array("{\"rev\":1}".utf8), from: 0)
        #expect(memory.entries.map(\.rev) == [1])
    }

    @Test func `the file stays small`() throws {
        let path = try temporaryPath()
        let put = try #require(Catalogue.standard.verbs.first { $0.method.name == "settings.put" }?.method)
        let memory = try #require(self.memory(path))
        for rev in 1...3000 { memory.note(put, [], Array("{\"rev\":\(rev)}".utf8), from: 0) }
        #expect(memory.entries.first?.rev == 3000)
        #expect((try Int(Shell.run("stat -c %s \(path)").output.dropLast()) ?? .max) < 70 << 10)
        #expect(try Shell.run("stat -c %a \(path)").output == "600\n")
    }
}

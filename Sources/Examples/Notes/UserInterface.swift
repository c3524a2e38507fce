import Foundation
import KuraClient
import Observation
import Synchronization

/// The notes on a terminal. The list is a `LiveCollection`: what other processes change shows by itself, and what is edited here is
/// saved by itself. Headlines and pictures come from caches, and are looked up again when those say that they have changed.
final class UserInterface: Sendable {
    static let commands = "add TEXT, edit NUMBER TEXT, done NUMBER, delete NUMBER, quit"

    /// What is shown beside the notes, as it was read last: drawing waits for nobody.
    private struct Beside {
        var headlines: [String] = []
        var pictures: [String: String] = [:]
        var isDaemonAway = false
        /// What the last line that was typed is answered with.
        var answer: String?
    }

    private let kura: Kura
    private let notes: LiveCollection<Note>
    private let beside = Mutex(Beside())
    private let redraws = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let screen = Screen()

    init(_ kura: Kura) throws(KuraError) {
        self.kura = kura
        notes = try kura.documents("notes", of: Note.self).live(saving: .immediate, sort: { [$0.id.ascending] })
    }

    func run() async throws {
        await notes.loaded()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (notes, redraws) = (notes, redraws)
            group.addTask {
                for await _ in Observations({ (notes.values, notes.lastProblem == nil) }) {
                    redraws.continuation.yield()
                }
            }
            group.addTask { try await self.followCaches() }
            group.addTask { try await self.watchDaemon() }
            group.addTask {
                for await _ in redraws.stream { self.screen.show(self.lines(), self.status()) }
            }
            group.addTask {
                for await line in Self.typed() {
                    if line == "quit" { return }
                    let answer = line.isEmpty ? nil : self.perform(line)
                    let shown = self.screen.answered(answer)
                    self.beside.withLock { $0.answer = shown }
                    redraws.continuation.yield()
                }
            }
            // The first that ends ends all: no more is typed, or what cannot go on has thrown.
            defer { group.cancelAll() }
            try await group.next()
        }
        screen.end()
        try await notes.close()
    }

    // MARK: Commands

    /// Does what a line says.
    /// - Returns: what to tell the user; nil when the list shows it.
    private func perform(_ line: String) -> String? {
        notes.forgetProblem()
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        let rest = words.dropFirst().joined(separator: " ")
        switch (words[0], words.count) {
        case ("add", 2...): notes.put(Note(id: Self.newID(), text: rest))
        case ("edit", 3), ("done", 2), ("delete", 2), ("keep", 3):
            let values = notes.values
            guard let place = Int(words[1]), values.indices.contains(place - 1) else {
                return "there is no note \(words[1])"
            }
            let id = values[place - 1].id
            switch words[0] {
            case "edit": notes.update(id) { $0.text = words[2] }
            case "done": notes.update(id) { $0.isDone = true }
            case "delete": notes.remove(id)
            default: return keep(id, words[2])
            }
        default: return Self.commands
        }
        return nil
    }

    /// Ends a conflict: an edit is kept in sight and not saved when somebody else has changed the same.
    private func keep(_ id: String, _ side: String) -> String? {
        guard side == "mine" || side == "theirs" else { return "keep NUMBER mine, or keep NUMBER theirs" }
        do throws(KuraError) {
            return try notes.resolve(id, keeping: side == "mine" ? .mine : .theirs) ? nil : "nobody else has changed it"
        } catch { return "\(error)" }
    }

    // MARK: What is shown

    /// Headlines from the cache, notes, a picture beside each that has one.
    private func lines() -> [String] {
        let (beside, conflicts) = (beside.withLock { $0 }, notes.conflicts)
        var notes = notes.values.enumerated().map { number, note in
            let mark = note.isDone == true ? "x" : " "
            var end = beside.pictures[note.id].map { "  |\($0)|" } ?? ""
            if let conflict = conflicts.first(where: { $0.id == note.id }) {
                let theirs = conflict.theirs.map { "theirs: \(plain($0.text))" } ?? "deleted by somebody else"
                end = "  (\(theirs); keep \(number + 1) mine|theirs)"
            }
            return screen.fitted("\(number + 1). [\(mark)] \(plain(note.text))", end)
        }
        if notes.isEmpty { notes = ["no notes: add TEXT"] }
        return screen.fitted(beside.headlines.map { screen.fitted($0, "") }, notes)
    }

    /// What has to be known; else what can be typed.
    private func status() -> String? {
        let beside = beside.withLock { $0 }
        if beside.isDaemonAway { return "no daemon answers: what is typed is saved when it is back (\(kura.path))" }
        return beside.answer
            ?? notes.lastProblem.map { problem in
                switch problem {
                case .conflict: "somebody else has changed the same: keep NUMBER mine, or keep NUMBER theirs"
                default: "not saved: \(problem.error.map { "\($0)" } ?? "\(problem)")"
                }
            }
    }

    // MARK: What comes from caches

    private func followCaches() async throws {
        let changes = kura.changes(ChangeFilter(stores: [.models, .blobs]))
        try await load()
        for try await event in changes {
            switch event {
            case .changes(let changes, rev: _):
                for change in changes where change.scope == "thumbnails" || change.scope == "headlines" {
                    if change.store == "blobs", let id = change.key {
                        try await loadPicture(id)
                    } else {
                        try await load()
                    }
                }
            // A daemon that has started again tells so: caches may have lost what they had.
            case .resync: try await load()
            case .progress: continue
            }
            redraws.continuation.yield()
        }
    }

    private func load() async throws(KuraError) {
        try await loadHeadlines()
        for note in notes.values { try await loadPicture(note.id) }
        redraws.continuation.yield()
    }

    private func loadHeadlines() async throws(KuraError) {
        let cached = try await kura.models["headlines"].get("today", as: Headlines.self)
        var lines = cached?.value.headlines.map { "* \(plain($0))" } ?? []
        if let cached, !cached.isFresh { lines.append("  (of \(Self.ago(cached.age)) ago)") }
        beside.withLock { [lines] in $0.headlines = lines }
    }

    private func loadPicture(_ id: String) async throws(KuraError) {
        let picture = try await kura.blobs["thumbnails"].get(id).map { Picture.preview($0.copy()) }
        beside.withLock { $0.pictures[id] = picture }
    }

    /// Tells when nobody answers, and how old the headlines have become: time is no change that anybody would tell.
    private func watchDaemon() async throws {
        while true {
            do throws(KuraError) {
                _ = try await kura.call("storage.ping", json: [], options: CallOptions(timeout: .seconds(2)))
                beside.withLock { $0.isDaemonAway = false }
                try await loadHeadlines()
            } catch { beside.withLock { $0.isDaemonAway = true } }
            redraws.continuation.yield()
            try await Task.sleep(for: .seconds(3))
        }
    }

    private static func ago(_ age: Duration) -> String {
        let seconds = age.components.seconds
        return seconds < 120 ? "\(seconds) s" : seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }

    /// Ids that sort by when they were made.
    private static func newID() -> String {
        let milliseconds = String(Int(Date().timeIntervalSince1970 * 1000), radix: 36)
        return milliseconds + "-" + String(UInt32.random(in: 0...(.max)), radix: 36)
    }

    /// What is typed, line by line, read on a thread of its own: reading waits.
    private static func typed() -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}

/// Text of somebody else's in one line, with nothing that a terminal would take for a command.
private func plain(_ text: String) -> String {
    String(
        text.map { character in
            character.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : character
        })
}

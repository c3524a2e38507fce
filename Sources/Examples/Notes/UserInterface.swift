import Foundation
import KuraClient
import Observation

/// The notes on a terminal. The list is a `LiveCollection`: what other processes change shows by itself, and what is edited here is
/// saved by itself.
struct UserInterface {
    private let kura: Kura
    private let notes: LiveCollection<Note>

    init(_ kura: Kura) throws(KuraError) {
        self.kura = kura
        notes = try kura.documents("notes", of: Note.self).live(saving: .immediate, sort: { [$0.id.ascending] })
    }

    func run() async throws {
        await notes.loaded()
        // What is drawn has three sources. Each says when it has changed; drawing reads them all.
        let changes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in Observations({ notes.values }) { changes.continuation.yield() } }
            group.addTask {
                for try await _ in kura.changes(ChangeFilter(stores: [.models, .blobs])) {
                    changes.continuation.yield()
                }
            }
            group.addTask {
                var shown = ""
                for await _ in changes.stream {
                    let screen = try await screen()
                    if screen != shown { show(screen) }
                    shown = screen
                }
            }
            group.addTask {
                for await line in Self.lines() where line != "" {
                    if line == "quit" { return }
                    if let answer = perform(line) { say(answer) }
                }
            }
            // The first that ends ends all: no more is typed, or what cannot go on has thrown.
            defer { group.cancelAll() }
            try await group.next()
        }
        try await notes.close()
    }

    /// Does what a line says.
    /// - Returns: what to tell the user; nil when the list shows it.
    private func perform(_ line: String) -> String? {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let values = notes.values
        switch (words.first, words.dropFirst().first) {
        case ("add", let text?): notes.put(Note(id: Self.newID(), text: text))
        case ("done", let number?), ("delete", let number?):
            guard let place = Int(number), values.indices.contains(place - 1) else {
                return "there is no note \(number)"
            }
            let id = values[place - 1].id
            if words[0] == "done" { notes.update(id) { $0.isDone = true } } else { notes.remove(id) }
        default: return "add TEXT, done NUMBER, delete NUMBER, quit"
        }
        return notes.lastProblem.map { "not saved: \($0)" }
    }

    /// What is to be seen: headlines from the cache, notes, a picture beside each that has one.
    private func screen() async throws(KuraError) -> String {
        var lines: [String] = []
        if let cached = try await kura.models["headlines"].get("today", as: Headlines.self) {
            lines += cached.value.headlines.map { "* \($0)" } + (cached.isFresh ? [""] : ["  (not of today)", ""])
        }
        for (number, note) in notes.values.enumerated() {
            let picture = try await kura.blobs["thumbnails"].get(note.id).map { Picture.preview($0.copy()) }
            let mark = note.isDone == true ? "x" : " "
            lines.append("\(number + 1). [\(mark)] \(note.text)" + (picture.map { "  |\($0)|" } ?? ""))
        }
        if notes.values.isEmpty { lines.append("no notes: add TEXT") }
        return lines.joined(separator: "\n")
    }

    /// Draws anew on a terminal; elsewhere one screen comes below the other.
    private func show(_ screen: String) {
        say(isatty(STDOUT_FILENO) == 1 ? "\u{1B}[H\u{1B}[2J\(screen)\n" : "\(screen)\n--")
    }

    /// Ids that sort by when they were made.
    private static func newID() -> String {
        let milliseconds = String(Int(Date().timeIntervalSince1970 * 1000), radix: 36)
        return milliseconds + "-" + String(UInt32.random(in: 0...(.max)), radix: 36)
    }

    /// What is typed, line by line, read on a thread of its own: reading waits.
    private static func lines() -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}

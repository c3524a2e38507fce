import KuraBytes

/// What a start has had to give up or to set aside, and what it has saved: told until somebody acknowledges it.
public struct RecoveredNotice: Equatable, Sendable {
    public enum What: String, Sendable {
        /// Tables and log.
        case durable
        /// Segments of the log that are damaged or gone: what is whole was kept.
        case log
        /// Files of caches, which begin empty.
        case caches
    }
    /// What the daemon went on from, before changes of the log were added.
    public enum Origin: String, Sendable {
        /// The tables that were set aside: they are sound, and were copied.
        case tables
        /// What could be read of the tables that were set aside, around what is damaged.
        case salvage
        case snapshot
        /// The seed bundle: the one that the tables had begun with, to which the log was added, or another one, with nothing.
        case bundle
        case nothing
    }
    /// How far a recovery of tables and log has come. What it has to do is known durably before it does it.
    package enum Step: String, Sendable {
        /// Files are being set aside.
        case moving
        /// They are; what to go on with is being made, or has been made and no start has held with it.
        case rebuilding
        case done
    }

    /// Changes that were acknowledged and are nowhere.
    public struct Missing: Equatable, Sendable {
        /// Nil when nothing is left that tells which store they were of.
        public var store: String?
        /// Nil as well where the store's names are sealed.
        public var scope: String?
        public var fromRev: UInt64
        public var toRev: UInt64

        /// Notices name so many; the others' revisions are in the last.
        static let most = 64
    }

    public var at: Int64
    public var what: What
    /// What the failed starts had come to.
    public var phase: String
    public var reason: String
    /// Name below DATA/quarantine; empty for caches.
    public var quarantine = ""
    /// Files of caches that were dropped.
    public var files: [String] = []
    public var origin = Origin.nothing
    public var snapshot = ""
    /// What the start state lacks: a snapshot leaves it out, or it could not be read. Of that only later changes of the log are there.
    public var leftOut: [RecoveredOmission] = []
    /// Every change up to this revision is there, but for what was left out.
    public var savedRev: UInt64 = 0
    /// The newest revision that was found in what was set aside; changes between the two are only there.
    public var newestRev: UInt64 = 0
    /// What is missing between the two, when the log was damaged.
    public var missing: [Missing] = []
    /// Revisions that are left out, since starts have trapped at them.
    public var without: [UInt64] = []
    package var step = Step.done
    var attempt = Attempt()

    struct Attempt: Equatable, Sendable {
        /// How much is left out, since starts with it have failed too.
        var rung = Rung.all
        /// Starts of this rung that have failed.
        var failures = 0

        /// `isSure`: it would fail again.
        mutating func fail(isSure: Bool) {
            failures += 1
            if isSure || failures >= Boot.durableAttempts { (rung, failures) = (rung.next, 0) }
        }
    }

    /// What a start goes on with: less whenever starts have failed with what there was.
    enum Rung: Int, Sendable, CaseIterable {
        case all, withoutTables, withoutLog, nothing

        var next: Rung { Rung(rawValue: rawValue + 1) ?? .nothing }
    }

    /// About how many changes or items are missing.
    var lostChanges: Int {
        let behind = missing.isEmpty ? Int(clamping: newestRev) - Int(clamping: savedRev) : 0
        return behind + missing.reduce(0) { $0 + Int(clamping: $1.toRev) - Int(clamping: $1.fromRev) + 1 }
            + leftOut.reduce(0) { $0 + $1.count }
    }

    /// Something that was there is not.
    var isLossy: Bool { lostChanges > 0 }

    init(at: Int64, what: What, phase: String, reason: String) {
        (self.at, self.what, self.phase, self.reason) = (at, what, phase, reason)
    }

    init?(_ note: NoteReader) {
        guard let what = What(rawValue: note.text("what")), let step = Step(rawValue: note.text("step")) else {
            return nil
        }
        self.init(at: note.number("at"), what: what, phase: note.text("phase"), reason: note.text("reason"))
        self.step = step
        quarantine = note.text("quarantine")
        files = note.texts("files")
        origin = Origin(rawValue: note.text("origin")) ?? .nothing
        snapshot = note.text("snapshot")
        leftOut = note.objects("leftOut").compactMap { RecoveredOmission($0) }
        savedRev = note.rev("savedRev")
        newestRev = note.rev("newestRev")
        missing = note.objects("missing").map { note in
            let (store, scope) = (note.text("store"), note.text("scope"))
            return Missing(
                store: store.isEmpty ? nil : store, scope: scope.isEmpty ? nil : scope, fromRev: note.rev("fromRev"),
                toRev: note.rev("toRev"))
        }
        without = note.objects("without").map { $0.rev("rev") }
        attempt = Attempt(rung: Rung(rawValue: note.count("rung")) ?? .nothing, failures: note.count("failures"))
    }

    func append(to text: inout ByteBuffer) {
        text.append("{\"format\":1")
        text.append(note: "at", at)
        text.append(note: "what", what.rawValue)
        text.append(note: "phase", phase)
        text.append(note: "reason", reason)
        text.append(note: "quarantine", quarantine)
        text.append(note: "files", files)
        text.append(note: "origin", origin.rawValue)
        text.append(note: "snapshot", snapshot)
        if !leftOut.isEmpty {
            text.append(noteName: "leftOut")
            text.append("[")
            for (position, omission) in leftOut.enumerated() {
                if position > 0 { text.append(",") }
                omission.append(to: &text)
            }
            text.append("]")
        }
        text.append(note: "savedRev", Int64(savedRev))
        text.append(note: "newestRev", Int64(newestRev))
        text.append(noteName: "missing")
        text.append("[")
        for (position, one) in missing.enumerated() {
            text.append(position > 0 ? ",{\"format\":1" : "{\"format\":1")
            if let store = one.store { text.append(note: "store", store) }
            if let scope = one.scope { text.append(note: "scope", scope) }
            text.append(note: "fromRev", Int64(one.fromRev))
            text.append(note: "toRev", Int64(one.toRev))
            text.append("}")
        }
        text.append("]")
        if !without.isEmpty {
            text.append(noteName: "without")
            text.append("[")
            for (position, rev) in without.enumerated() {
                text.append(position > 0 ? ",{\"format\":1" : "{\"format\":1")
                text.append(note: "rev", Int64(clamping: rev))
                text.append("}")
            }
            text.append("]")
        }
        text.append(note: "step", step.rawValue)
        text.append(note: "rung", Int64(attempt.rung.rawValue))
        text.append(note: "failures", Int64(attempt.failures))
        text.append("}")
    }

    /// For the log.
    package var line: String {
        switch what {
        case .caches:
            "caches were dropped and begin empty, since starts failed with them: \(files.joined(separator: ", "))"
        case .log:
            (missing.isEmpty
                ? "THE LOG MAY HAVE LOST ACKNOWLEDGED CHANGES: \(reason). What was found is there"
                : "THE LOG WAS DAMAGED AND ACKNOWLEDGED CHANGES ARE LOST: \(reason). \(missingText). Everything else is there")
                + "; the history has a new name"
                + (quarantine.isEmpty ? "" : ", and damaged files lie in quarantine/\(quarantine)")
        case .durable:
            "tables and log were set aside to quarantine/\(quarantine) after failed starts (\(reason)). "
                + startLine + lossLine
                + (without.isEmpty
                    ? ""
                    : "; REVISION \(without.map(String.init).joined(separator: ", ")) IS LEFT OUT: the starts trapped at it")
        }
    }

    /// What to do about it, for people.
    package var advice: String {
        switch what {
        case .durable where !without.isEmpty:
            "report the trap; 'kura secrets verify' tells whether services refuse since; then 'kura storage acknowledge'"
        case .durable: "look at what lies in quarantine/\(quarantine), then 'kura storage acknowledge'"
        case .caches: "caches fill again by themselves: 'kura storage acknowledge'"
        case .log where missing.contains { $0.store == Store.secrets.roomName }:
            "'kura secrets verify' tells which services refuse since, 'kura secrets repair' has them go on; then 'kura storage acknowledge'"
        case .log where missing.isEmpty:
            "compare what is there with a backup ('kura restore BACKUP --data-dir ELSEWHERE'), then 'kura storage acknowledge'"
        case .log: "write anew what is missing, then 'kura storage acknowledge'"
        }
    }

    /// What is missing, for people.
    public var missingText: String {
        missing.map { one in
            let revs = one.fromRev == one.toRev ? "revision \(one.fromRev)" : "revisions \(one.fromRev) to \(one.toRev)"
            guard let store = one.store else { return revs }
            return revs + " of " + store + (one.scope.map { " \($0)" } ?? "")
        }.joined(separator: ", ")
    }

    private var startLine: String {
        let origin =
            switch origin {
            case .tables: "a copy of the tables, which are sound"
            case .salvage: "what could be read of the damaged tables"
            case .snapshot: "the snapshot \(snapshot)"
            case .bundle: "the seed bundle"
            case .nothing: "nothing"
            }
        let rest = self.origin == .bundle ? ", NOTHING OF WHAT WAS CHANGED SINCE IS THERE" : ", EMPTY"
        return "The daemon starts from \(origin)"
            + (savedRev > 0 ? ", everything up to revision \(savedRev) is there" : rest)
            + RecoveredOmission.line(leftOut)
    }

    private var lossLine: String {
        if !missing.isEmpty { return "; MISSING: \(missingText)" }
        return newestRev > savedRev ? "; CHANGES \(savedRev + 1) TO \(newestRev) ARE ONLY IN THE QUARANTINE" : ""
    }
}

/// recovered.json: the notices that nobody has acknowledged, and what a recovery under way has to do. Without any there is no such file.
package struct RecoveredFile {
    private let path: String
    private let directory: String

    package init(_ configuration: StorageConfiguration) {
        path = configuration.recoveredPath
        directory = configuration.dataDirectory
    }

    private static let limit = 1 << 20
    /// Notices that are kept; older ones of caches go for newer ones.
    static let mostNotices = 64

    /// - Throws: what keeps it from being read, or `.damaged` when it says something else than was written.
    package func read() throws(StorageFault) -> [RecoveredNotice] {
        guard let text = try FileSystem.contents(path, atMost: Self.limit) else { return [] }
        let notices: [RecoveredNotice]? = text.withBytes { text in
            guard let note = NoteReader(text) else { return nil }
            let objects = note.objects("notices")
            let notices = objects.compactMap { RecoveredNotice($0) }
            return notices.count == objects.count && !notices.isEmpty ? notices : nil
        }
        guard let notices else { throw .damaged("\(path) is damaged") }
        return notices
    }

    /// The number of a text's format, when each notice says it too: one damaged byte is no newer version. Without notices no version writes the file.
    static func format(of text: [UInt8]) -> Int? {
        guard let format = NoteReader.format(of: text) else { return nil }
        let notices = text.withBytes { NoteReader.newer($0)?.objects("notices").map { $0.count("format") } } ?? []
        return !notices.isEmpty && notices.allSatisfy { $0 == format } ? format : nil
    }

    func write(_ notices: [RecoveredNotice]) throws(StorageFault) {
        guard !notices.isEmpty else {
            try FileSystem.remove(path)
            return try FileSystem.syncDirectory(directory)
        }
        var text = ByteBuffer()
        text.append("{\"format\":1,\"notices\":[")
        for (position, notice) in notices.enumerated() {
            if position > 0 { text.append(",") }
            notice.append(to: &text)
        }
        text.append("]}\n")
        try FileSystem.replace(path, with: text.bytes, in: directory)
    }

    private var asidePath: String { path + ".damaged" }

    /// Out of the way, for whoever wants to see what it was.
    func setAside() { FileSystem.tryToRename(path, asidePath) }

    /// A damaged one lies there, and nobody has acknowledged that.
    package var hasSetAside: Bool { FileSystem.exists(asidePath) }

    func forgetSetAside() { FileSystem.tryToRemove(asidePath) }
}

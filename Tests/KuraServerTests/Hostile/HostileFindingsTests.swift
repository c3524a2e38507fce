import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// What altered backups and seed bundles have done to daemons, one by one: each is refused before anything is written, and the record is
/// named.
@Suite struct HostileFindingsTests {
    private let directory = TemporaryDirectory(prefix: "kura-findings")
    private let backup: HostileFile
    private let bundle: HostileFile

    init() throws {
        backup = try HostileFile(HostileWorld.made.get().backup)
        bundle = try HostileFile(HostileWorld.made.get().bundle)
    }

    private var path: String { directory.path + "/file" }
    private var target: String { directory.path + "/target" }

    private func write(_ file: HostileFile) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try file.bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path) }
    }

    /// Changes the record that fits, in the backup and in the bundle: verifying, restoring, comparing and laying down name it, with a
    /// reason that has these words.
    private func expectRefusal(
        _ words: String, of fits: (HostileRecord) -> Bool, manifest: ((String) -> String)? = nil,
        _ change: (inout HostileRecord) -> Void
    ) throws {
        for (file, isBundle) in [(backup, false), (bundle, true)] {
            let found = file.place(where: fits)
            let place = try #require(found)
            var hostile = file.changing(place, change)
            if let manifest { hostile = hostile.saying(manifest: manifest(file.manifest.text)) }
            try write(hostile)
            let ways: [() throws -> Void] =
                isBundle
                ? [{ _ = try SeedBundle(path) }]
                : [
                    { _ = try BackupRestore.verify(path) }, { try BackupRestore.restore(path, into: target) },
                    { try compare() },
                ]
            for way in ways {
                do {
                    try way()
                    Issue.record("it passes: \(words)")
                } catch let fault as BackupFault {
                    guard case .unfit(let record, let reason) = fault else {
                        Issue.record("\(fault) instead of \(words)")
                        continue
                    }
                    #expect(record == file.number(at: place) && reason.contains(words), "\(fault)")
                }
                #expect(TemporaryDaemon.names(directory.path)?.filter { $0.hasPrefix("target") } == [])
            }
        }
    }

    /// Verifying, restoring, comparing and laying down refuse a file, for a reason that has these words.
    private func expectRefusal(_ words: String, of hostile: HostileFile, isBundle: Bool) throws {
        try write(hostile)
        let ways: [() throws -> Void] =
            isBundle
            ? [{ _ = try SeedBundle(path) }]
            : [
                { _ = try BackupRestore.verify(path) }, { try BackupRestore.restore(path, into: target) },
                { try compare() },
            ]
        for way in ways {
            do {
                try way()
                Issue.record("it passes: \(words)")
            } catch let fault as BackupFault { #expect(fault.description.contains(words), "\(fault)") }
            #expect(TemporaryDaemon.names(directory.path)?.filter { $0.hasPrefix("target") } == [])
        }
    }

    /// The place of the first content, and its frame.
    private static func content(of file: HostileFile) throws -> (place: Int, frame: [UInt8]) {
        var found: (place: Int, frame: [UInt8])?
        for (place, part) in file.parts.enumerated() {
            if case .frame(BackupFormat.Payload.content.rawValue, let frame) = part, found == nil {
                found = (place, frame)
            }
        }
        return try #require(found)
    }

    /// As `backups.compare` reads the file.
    private func compare() throws {
        let configuration = StorageConfiguration(dataDirectory: directory.path + "/compared")
        defer { TemporaryDaemon.remove(configuration.dataDirectory) }
        try FileSystem.makeDirectories(configuration.temporaryDirectory)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        _ = try BackupComparison(BackupSelection(), examples: 1, configuration).run(descriptor, BackupOpener()) {
            false
        }
    }

    private static let forged = Array(
        "1,\"rev\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"secret\":\"forged\"}}\n{\"x\":{\"y\":1".utf8)

    private static func isNote(_ record: HostileRecord) -> Bool { record.isOf(.documents, "notes", "1") }

    // MARK: Forged replies

    @Test func `a document's body of several lines is refused, so it forges no reply`() throws {
        try expectRefusal(
            "(documents/notes/1) is not what a daemon writes: its body is not one line of JSON", of: Self.isNote
        ) {
            $0.value = Self.forged
        }
    }

    @Test func `a setting of several lines is refused`() throws {
        try expectRefusal("its value is not one line of JSON", of: { $0.isOf(.settings, "app", "theme") }) {
            $0.value = Self.forged
        }
    }

    @Test func `a list of attachments of several lines is refused`() throws {
        try expectRefusal("its value is not one line of JSON", of: { $0.isOf(.attachments, "notes", "1") }) {
            $0.value = Array("[\n".utf8) + $0.value.dropFirst()
        }
    }

    @Test(arguments: [
        ("documents/notes", "schema"), ("documents/books", "references"), ("documents/notes", "retainDays"),
        ("documents/notes", "tombstoneDays"), ("documents/notes", "search"), ("settings/app", "schema"),
        ("settings/app", "defaults"), ("settings/app", "backup"),
    ])
    func `a configuration of several lines is refused`(scope: String, key: String) throws {
        try expectRefusal("its value is not one line of JSON", of: { $0.isOf(.configuration, scope, key) }) {
            $0.value = Self.forged
        }
    }

    // MARK: Collections that leak

    @Test(arguments: [1 << 40 - 1, 1 << 39 + 1, 0] as [UInt64])
    func `a row that leaves no room for new ones in its collection is refused`(row: UInt64) throws {
        try expectRefusal("its row \(row) is not 1 to 2^39", of: Self.isNote) { $0.row = row }
    }

    @Test func `a next row that leaves no room for new ones is refused`() throws {
        try expectRefusal(
            "leaves no room for new ones",
            of: { $0.isOf(.documents, "notes", "") && $0.flags == BackupRecord.Flags.isScope.rawValue }
        ) { $0.row = 1 << 40 - 1 }
    }

    // MARK: Ends for ever

    @Test(arguments: ["9223372036854775807", "36501", "0", "-1", "1.5", "\"30\"", "1e1"])
    func `days beyond what can be configured are refused`(days: String) throws {
        try expectRefusal(
            "its retainDays is not what can be configured",
            of: {
                $0.isOf(.configuration, "documents/notes", "retainDays")
            }
        ) { $0.value = Array(days.utf8) }
    }

    @Test func `a revision that the next write cannot count on from is refused`() throws {
        for rev in [UInt64(Int64.max), 1 << 53] {
            // The file says the same of itself, and is none then either.
            try expectRefusal("its revision \(rev) is not 1 to 2^53 - 1", of: Self.isNote) { $0.rev = rev }
            let (_, text) = backup.manifest
            let own = try #require(text.split(separator: ",").first { $0.hasPrefix("\"rev\":") })
            try write(backup.saying(manifest: text.replacing(own, with: "\"rev\":\(rev)")))
            #expect(throws: BackupFault.malformed) { try BackupRestore.verify(path) }
        }
    }

    @Test func `a revision above the file's own is refused`() throws {
        try expectRefusal("its revision is", of: Self.isNote) { $0.rev += 1000 }
    }

    @Test(arguments: [.max, 1 << 31, 0] as [UInt32])
    func `a version that the fold cannot count on from is refused`(version: UInt32) throws {
        try expectRefusal("its version \(version) is not 1 to 2^31 - 1", of: Self.isNote) { $0.version = version }
    }

    @Test func `attachments whose sizes add up to more than there can be are refused`() throws {
        func list(_ bytes: String) -> [UInt8] {
            let digest = String(repeating: "ab", count: 32)
            let each = ["a", "b"].map { "{\"name\":\"\($0)\",\"bytes\":\(bytes),\"digest\":\"\(digest)\"}" }
            return Array("[\(each.joined(separator: ","))]".utf8)
        }
        for (bytes, words) in [
            ("9223372036854775807", "it is no list of attachments"), ("536870913", "it is no list of attachments"),
            ("-1", "it is no list of attachments"),
        ] {
            try expectRefusal(words, of: { $0.isOf(.attachments, "notes", "1") }) { $0.value = list(bytes) }
        }
        // Together with a third one these are too many bytes.
        try expectRefusal("more attachments than a document may have", of: { $0.isOf(.attachments, "notes", "1") }) {
            let digest = String(repeating: "ab", count: 32)
            let each = ["a", "b", "c"].map { "{\"name\":\"\($0)\",\"bytes\":536870912,\"digest\":\"\(digest)\"}" }
            $0.value = Array("[\(each.joined(separator: ","))]".utf8)
        }
    }

    @Test(arguments: [.min, .max, -62_167_219_200_001, 253_402_300_800_000] as [Int64])
    func `a moment that no timestamp can say is refused`(moment: Int64) throws {
        try expectRefusal("before the year 0 or after the year 9999", of: Self.isNote) { $0.createdAt = moment }
        try expectRefusal("before the year 0 or after the year 9999", of: Self.isNote) { $0.updatedAt = moment }
    }

    @Test func `a schema that is cut off is refused, not passed over`() throws {
        try expectRefusal(
            "its value is not one line of JSON", of: { $0.isOf(.configuration, "documents/notes", "schema") }
        ) { $0.value = Array("{\"a\":".utf8) }
        try expectRefusal(
            "its schema is not what can be configured", of: { $0.isOf(.configuration, "documents/notes", "schema") }
        ) { $0.value = Array("{\"type\":\"nothing\"}".utf8) }
    }

    // MARK: What is in which file

    @Test func `a configuration that nobody knows is passed over in a backup, and refused in a bundle`() throws {
        func unknown(_ file: HostileFile, _ value: String) throws -> HostileFile {
            let place = try #require(file.place { $0.isOf(.configuration, "documents/notes", "schema") })
            return file.changing(place) { ($0.key, $0.value) = (Array("later".utf8), Array(value.utf8)) }
        }
        try write(unknown(backup, "{\"x\":1}"))
        try BackupRestore.restore(path, into: target)
        try write(unknown(backup, "{\"x\":\n1}"))
        #expect(throws: BackupFault.self) { try BackupRestore.verify(path) }
        try write(unknown(bundle, "{\"x\":1}"))
        #expect { try SeedBundle(path) } throws: { "\($0)".contains("nothing is configured under 'later'") }
    }

    @Test func `a bundle has no secrets and no keys, however they are called`() throws {
        let secret = try #require(backup.place { $0.store == Store.secrets.rawValue })
        var file = bundle
        file.parts.insert(backup.parts[secret], at: 2)
        try write(file)
        #expect { try SeedBundle(path) } throws: { "\($0)".contains("secrets have no place in a seed bundle") }
        file = bundle
        file.parts.insert(.frame(BackupFormat.Payload.keys.rawValue, [0, 0, 0, 0]), at: file.manifest.place)
        try write(file)
        #expect(throws: BackupFault.malformed) { try SeedBundle(path) }
    }

    @Test func `names of others are shown without what a terminal would do`() throws {
        let place = try #require(backup.place(where: Self.isNote))
        try write(backup.changing(place) { $0.scope = Array("\u{1B}[2J\u{202E}evil".utf8) })
        #expect {
            try BackupRestore.verify(path)
        } throws: {
            "\($0)".contains("(documents/\\u{1b}[2J\\u{202e}evil/1) is not") && !"\($0)".utf8.contains(0x1B)
        }
    }

    @Test func `a content that is missing is refused unless the manifest says so`() throws {
        let place = try #require(
            backup.parts.firstIndex { if case .frame(3, _) = $0 { true } else { false } })
        var file = backup
        file.parts.remove(at: place)
        try write(file)
        #expect { try BackupRestore.restore(path, into: target) } throws: { "\($0)".contains("is not in it") }
        #expect(TemporaryDaemon.names(directory.path) == ["file"])
    }

    // MARK: Contents

    @Test func `contents that do not come whole, once and in order are refused before anything is written`() throws {
        for (file, isBundle) in [(backup, false), (bundle, true)] {
            let (place, frame) = try Self.content(of: file)
            let size = frame.count - 48
            let orders = Dictionary(uniqueKeysWithValues: HostileContent.orders(of: frame))
            var other = file
            other.parts.replaceSubrange(place...place, with: try #require(orders["in two pieces"]))
            try write(other)
            if isBundle { _ = try SeedBundle(path) } else { _ = try BackupRestore.verify(path) }
            for (name, words) in [
                ("twice", "comes twice"), ("with a gap", "goes on at byte 3, and byte 2 is the next one"),
                ("swapped", "goes on at byte 2, and byte 0 is the next one"),
                ("cut off", "ends behind byte 2 of \(size)"),
                ("from the middle", "goes on at byte 2, and byte 0 is the next one"),
                ("overlapping", "goes on at byte 2, and byte 3 is the next one"),
                ("begun anew", "goes on at byte 0, and byte 2 is the next one"),
                ("an empty piece", "has a piece without bytes"),
                ("another size", "has \(size + 1) bytes here, and \(size) in the piece before"),
            ] {
                var hostile = file
                hostile.parts.replaceSubrange(place...place, with: try #require(orders[name], "\(name)"))
                try expectRefusal(words, of: hostile, isBundle: isBundle)
            }
            var hostile = file
            hostile.parts.remove(at: place)
            try expectRefusal("is not in it", of: hostile, isBundle: isBundle)
            hostile = file
            var altered = frame
            altered[altered.count - 1] ^= 1
            hostile.parts[place] = .frame(BackupFormat.Payload.content.rawValue, altered)
            try expectRefusal("has other bytes than its digest", of: hostile, isBundle: isBundle)
            altered = frame
            altered[0] ^= 1
            hostile.parts[place] = .frame(BackupFormat.Payload.content.rawValue, altered)
            try expectRefusal("is named by no list of attachments", of: hostile, isBundle: isBundle)
        }
    }

    @Test func `what is wrong with a content is no matter when the manifest leaves it out`() throws {
        let (number, frame) = try Self.content(of: backup)
        var file = backup
        file.parts[number] = HostileContent.piece(of: frame, 0..<2)
        let digest = ContentDigest(Array(frame[..<32])).text
        let item =
            "{\"store\":\"documents\",\"scope\":\"\",\"name\":\"\(digest)\",\"count\":1,\"reason\":\"damaged\"}"
        let text = file.manifest.text.replacing("\"attachments\":1", with: "\"attachments\":0")
            .replacing("\"leftOut\":[", with: "\"leftOut\":[\(item)")
        try write(file.saying(manifest: text))
        try BackupRestore.restore(path, into: target)
        // Of a content that is not whole nothing is kept.
        let place = AttachmentFiles.path(
            ContentDigest(Array(frame[..<32])), StorageConfiguration(dataDirectory: target))
        #expect(!FileSystem.exists(place))
    }

    @Test func `a manifest that counts others than there are is refused`() throws {
        for (file, isBundle) in [(backup, false), (bundle, true)] {
            let text = file.manifest.text
            let names =
                ["domains", "settings", "collections", "documents", "attachments"]
                + (isBundle ? ["namespaces", "models"] : [])
            for name in names {
                let members = text.split { $0 == "," || $0 == "{" || $0 == "}" }
                let member = try #require(members.first { $0.hasPrefix("\"\(name)\":") })
                let said = try #require(Int(member.split(separator: ":")[1]))
                let hostile = file.saying(manifest: text.replacing(member, with: "\"\(name)\":\(said + 1)"))
                try expectRefusal(
                    "its manifest says \(said + 1) \(name), and it has \(said)", of: hostile, isBundle: isBundle)
            }
            var empty = file
            empty.parts.removeAll {
                switch $0 {
                case .record, .frame(BackupFormat.Payload.content.rawValue, _): true
                default: false
                }
            }
            try expectRefusal("and it has 0", of: empty, isBundle: isBundle)
        }
    }

    // MARK: Lists of attachments

    @Test func `a list of attachments of a document that is not there is refused`() throws {
        let words = "it lists attachments of a document that is not there"
        try expectRefusal(words, of: { $0.isOf(.attachments, "notes", "1") }) { $0.key = Array("9".utf8) }
        try expectRefusal(words, of: { $0.isOf(.attachments, "notes", "1") }) { $0.scope = Array("none".utf8) }
        for (file, isBundle) in [(backup, false), (bundle, true)] {
            let place = try #require(file.place(where: Self.isNote))
            let list = try #require(file.place { $0.isOf(.attachments, "notes", "1") })
            let deleted = file.changing(place) { $0.flags = BackupRecord.Flags.isDeleted.rawValue }
            try expectRefusal(
                "record \(file.number(at: list)) is not what a daemon writes: \(words)", of: deleted, isBundle: isBundle
            )
        }
    }

    @Test(arguments: ["0", "3", "67108864"])
    func `a list that says another size than its content has is refused`(size: String) throws {
        try expectRefusal(
            "it says \(size) bytes of an attachment, and its content has 5",
            of: { $0.isOf(.attachments, "notes", "1") }
        ) {
            let text = String(decoding: $0.value, as: UTF8.self)
            $0.value = Array(text.replacing("\"bytes\":5", with: "\"bytes\":\(size)").utf8)
        }
    }

    // MARK: Frames

    @Test func `a file without its beginning is refused, and so is one with another tag than the two`() throws {
        for (file, isBundle) in [(backup, false), (bundle, true)] {
            let words = BackupFault.malformed.description
            var hostile = file
            let first = try #require(
                file.parts.firstIndex {
                    if case .frame(BackupFormat.Payload.beginning.rawValue, _) = $0 { true } else { false }
                })
            hostile.parts.remove(at: first)
            try expectRefusal(words, of: hostile, isBundle: isBundle)
            for tag: UInt8 in [1, 2, 4, 255] {
                hostile = file
                hostile.messageTag = tag
                try expectRefusal(words, of: hostile, isBundle: isBundle)
            }
        }
    }

    // MARK: Recoveries

    @Test func `a recovery leaves records out that no daemon writes, and counts them as damage`() throws {
        let place = try #require(backup.place(where: Self.isNote))
        try FileSystem.makeDirectories(target + "/backups")
        let file = backup.changing(place) { $0.value = Self.forged }
        let descriptor = open(target + "/backups/one.kurabackup", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try file.bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: target) }
        close(descriptor)
        let configuration = StorageConfiguration(dataDirectory: target)
        let snapshot = try #require(BackupDirectory.newestSnapshot(configuration))
        #expect(
            snapshot.unfit == [RecoveredOmission(store: "documents", scope: "notes", count: 1, reason: .damaged)])
        let draft = try DraftDirectory.make(in: directory.path, prefix: "made")
        let made = draft.path
        let outcome = try BackupRestore.restore(snapshot.path, inside: draft)
        #expect(outcome.counts[.documents] == outcome.manifest.counts[.documents] - 1)
        #expect(try TablesRecount.numbers(made, "SELECT count(*) FROM documents WHERE body LIKE '%forged%'") == [0])
    }
}

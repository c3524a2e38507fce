@testable import KuraStorage

/// What a file is made to say: one field of one record at its extremes, and records and frames in other places, twice or not at all.
struct HostileChange {
    var name: String
    /// The number of the record that is at fault; nil where it is none's, or another's.
    var record: Int?
    var file: HostileFile
}

/// All changes of a file: of each kind of record one is changed.
struct HostileExtremes {
    private let file: HostileFile
    private(set) var changes: [HostileChange] = []

    init(_ file: HostileFile) {
        self.file = file
        var seen: Set<String> = []
        for place in file.parts.indices {
            let kind = kind(at: place)
            add(structure: place, kind)
            guard seen.insert(kind).inserted else { continue }
            switch file.parts[place] {
            case .record(let record): add(record, place, kind)
            case .model(let model): add(model, place, kind)
            case .frame(let frame, let bytes): add(frame, bytes, place, kind)
            }
        }
        addManifests()
        for tag: UInt8 in [1, 2, 255] {
            var tagged = file
            tagged.messageTag = tag
            add("frames of tag \(tag)", nil, tagged)
        }
        var empty = file
        empty.parts.removeAll { if case .record = $0 { true } else { false } }
        add("no records", nil, empty)
        empty.parts.removeAll { if case .frame(BackupFormat.Payload.content.rawValue, _) = $0 { true } else { false } }
        add("no records, and no contents", nil, empty)
    }

    /// Records of a kind have the same fields, and are judged alike.
    private func kind(at place: Int) -> String {
        switch file.parts[place] {
        case .record(let record):
            let isConfiguration = record.store == Store.configuration.rawValue
            let what = isConfiguration ? String(decoding: record.scope + record.key, as: UTF8.self) : ""
            return "store \(record.store) flags \(record.flags) \(what)"
        case .model(let model): return "model \(model.kind)"
        case .frame(let kind, _): return "frame \(kind)"
        }
    }

    private mutating func add(_ name: String, _ record: Int?, _ file: HostileFile) {
        changes.append(HostileChange(name: name, record: record, file: file))
    }

    // MARK: Texts

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    static let names: [[UInt8]] = [
        [], [0], text("a\nb"), text("\u{1B}[2J"), [0x61, 0x7F], [0xC2, 0x85], [0xFF], [0xC3], [0xED, 0xA0, 0x80],
        text("."), text(".."), text("/"), text("%"), text("notes"), text("a/b"), text("\u{202E}x"),
        [UInt8](repeating: 0x61, count: 128), [UInt8](repeating: 0x61, count: 129),
        [UInt8](repeating: 0x61, count: 512), [UInt8](repeating: 0x61, count: 513),
        [UInt8](repeating: 0x61, count: 65_535),
    ]

    static let values: [[UInt8]] =
        [
            "", " ", "\n", "null", "true", "false", "0", "-0", "-1", "1.5", "1e400", "9223372036854775807",
            "9223372036854775808", "36501", "3601", "\"\"", "\"x\"", "\"enforce\"", "[]", "{}", "[[]]", "{\"a\":",
            "{\"a\":1}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"secret\":\"forged\"}}", "{\"a\":\n1}", "{\"a\": 1}",
            "1 2", "1,2", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "\"a\tb\"", "\"\u{7F}\"", "tru", "[1,]", "{]",
            "\u{FEFF}1",
            "\"" + String(repeating: "x", count: 9 << 20) + "\"", String(repeating: "[", count: 10_000),
            String(repeating: "[", count: 128) + String(repeating: "]", count: 128),
            String(repeating: "[", count: 129) + String(repeating: "]", count: 129),
            "[{\"name\":\"x\",\"fields\":[\"a\"]}]",
            "[{\"name\":\"x\",\"fields\":[\"a\"],\"attempt\":9223372036854775807}]",
            "[{\"name\":\"x\",\"fields\":[]}]", "[{\"field\":\"a\",\"collection\":\"a\\nb\",\"onDelete\":\"deny\"}]",
            "[{\"rev\":1,\"to\":2147483648,\"steps\":[]}]", "[{\"rev\":18446744073709551615,\"to\":2,\"steps\":[]}]",
            "{\"from\":1,\"to\":2,\"rev\":1,\"row\":9223372036854775807,\"total\":9223372036854775807,\"changed\":9223372036854775807,\"failed\":0,\"done\":0,\"failures\":[]}",
            "{\"fields\":[\"a\"],\"tokenizer\":\"none\"}", "{\"type\":\"nothing\"}", "{\"\":1}", "{\"a\\nb\":1}",
        ].map(text) + [[0xFF], [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x00, 0x22]]

    /// Lists of attachments of a digest that is there.
    private static func lists(_ list: String) -> [[UInt8]] {
        guard let start = list.range(of: "\"bytes\":"), let end = list.range(of: ",\"digest\"") else { return [] }
        let sizes = [
            "-1", "0", "3", "67108864", "536870912", "536870913", "9223372036854775807", "9223372036854775808", "1e3",
            "01",
        ].map {
            text(list.replacingCharacters(start.upperBound..<end.lowerBound, $0))
        }
        let one = String(list.dropFirst().dropLast())
        let huge = one.replacing("\"bytes\":5", with: "\"bytes\":9223372036854775807")
        return sizes + [
            text("[\(one),\(one)]"), text("[\(huge),\(huge.replacing("card", with: "d"))]"), text("[\(one),{}]"),
            text("[" + (0..<257).map { one.replacing("card", with: String(10_000 + $0)) }.joined(separator: ",") + "]"),
            text(list.replacing("card", with: "a\\nb")), text(list.replacing("card", with: "")),
        ]
    }

    // MARK: Fields

    private mutating func add(_ record: HostileRecord, _ place: Int, _ kind: String) {
        let file = file
        let number = file.number(at: place)
        func add(_ what: String, _ change: (inout HostileRecord) -> Void) {
            self.add("\(kind): \(what)", number, file.changing(place, change))
        }
        for store in [UInt8](0...9) + [255] { add("store \(store)") { $0.store = store } }
        for flags in [UInt8](0...16) + [255] { add("flags \(flags)") { $0.flags = flags } }
        add("reserved") { $0.reserved.0 = 1 }
        add("reserved, the other") { $0.reserved.1 = 1 }
        let versions: [UInt32] = [0, 1, 1 << 31 - 1, 1 << 31, .max - 1, .max]
        for version in versions {
            add("version \(version)") { $0.version = version }
        }
        let revs: [UInt64] = [0, 1, record.rev + 1, 1 << 53 - 1, 1 << 53, 1 << 62, 1 << 63 - 1, 1 << 63, .max]
        for rev in revs {
            add("rev \(rev)") { $0.rev = rev }
        }
        let moments: [Int64] = [
            0, -1, .min, .min + 1, .max, -62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999,
            253_402_300_800_000,
        ]
        for moment in moments {
            add("created \(moment)") { $0.createdAt = moment }
            add("updated \(moment)") { $0.updatedAt = moment }
        }
        let rows: [UInt64] = [0, 1, 2, 1 << 39, 1 << 39 + 1, 1 << 39 + 2, 1 << 40 - 1, 1 << 40, 1 << 63, .max]
        for row in rows {
            add("row \(row)") { $0.row = row }
        }
        for (position, name) in Self.names.enumerated() {
            add("scope name \(position)") { $0.scope = name }
            add("key name \(position)") { $0.key = name }
            // Behind the room.
            add("scope settings/ name \(position)") { $0.scope = Array(("settings/").utf8) + name.prefix(60_000) }
        }
        for (position, value) in Self.values.enumerated() { add("value \(position)") { $0.value = value } }
        if record.store == Store.attachments.rawValue {
            for (position, list) in Self.lists(String(decoding: record.value, as: UTF8.self)).enumerated() {
                add("list \(position)") { $0.value = list }
            }
        }
        add("value cut") { $0.value = Array($0.value.dropLast()) }
        add("value twice") { $0.value += $0.value }
        for excess: Int32 in [-1, 1, -60, 1 << 30] { add("length wrong by \(excess)") { $0.excess = excess } }
    }

    private mutating func add(_ model: HostileModel, _ place: Int, _ kind: String) {
        let number = file.number(at: place)
        func add(_ what: String, _ change: (inout HostileModel) -> Void) {
            var (file, model) = (file, model)
            change(&model)
            file.parts[place] = .model(model)
            self.add("\(kind): \(what)", number, file)
        }
        for kind in [UInt8](0...2) + [255] { add("kind \(kind)") { $0.kind = kind } }
        for moment in [0, .min, .max, 253_402_300_800_000] as [Int64] {
            add("stored \(moment)") { $0.storedAt = moment }
        }
        for (position, name) in Self.names.enumerated() {
            add("key name \(position)") { $0.key = name }
            add("etag name \(position)") { $0.etag = name }
            add("tags name \(position)") { $0.tags = [UInt8(truncatingIfNeeded: name.count)] + name.prefix(1000) }
        }
        for tags in [[0], [1], [255, 1], [1, 0x0A], [UInt8](repeating: 1, count: 64)] {
            add("tags \(tags)") { $0.tags = tags }
        }
        for (position, value) in Self.values.enumerated() { add("value \(position)") { $0.value = value } }
        for text in [
            "s1", "s1e1f0p1", "s-1e0f0p1", "s9223372036854775807e0f0p1", "s1e0t315360001f0p1", "s1e0n0f0p1", "x",
        ] {
            add("configuration \(text)") { $0.value = Array(text.utf8) }
        }
    }

    private mutating func add(_ frame: UInt8, _ bytes: [UInt8], _ place: Int, _ kind: String) {
        func add(_ what: String, _ change: (inout UInt8, inout [UInt8]) -> Void) {
            var (file, frame, bytes) = (file, frame, bytes)
            change(&frame, &bytes)
            file.parts[place] = .frame(frame, bytes)
            self.add("\(kind): \(what)", nil, file)
        }
        for other in [UInt8](0...7) + [255] { add("kind \(other)") { frame, _ in frame = other } }
        add("empty") { _, bytes in bytes = [] }
        add("cut") { _, bytes in bytes = Array(bytes.dropLast()) }
        add("longer") { _, bytes in bytes.append(0x0A) }
        guard frame == BackupFormat.Payload.content.rawValue else { return }
        for position in [0, 32, 39, 40, 47, 48] where position < bytes.count {
            add("content byte \(position)") { _, bytes in bytes[position] ^= 0x80 }
        }
        for (what, pieces) in HostileContent.orders(of: bytes) {
            var file = file
            file.parts.replaceSubrange(place...place, with: pieces)
            self.add("\(kind): \(what)", nil, file)
        }
    }

    // MARK: Places

    private mutating func add(structure place: Int, _ kind: String) {
        var without = file
        without.parts.remove(at: place)
        add("\(kind) at \(place) left out", nil, without)
        var twice = file
        twice.parts.insert(file.parts[place], at: place)
        add("\(kind) at \(place) twice", nil, twice)
        for target in [0, place + 1, file.parts.count - 1] where target < file.parts.count && target != place {
            var moved = file
            moved.parts.insert(moved.parts.remove(at: place), at: target)
            add("\(kind) from \(place) to \(target)", nil, moved)
        }
        guard let record = file.record(at: place), record.store != Store.secrets.rawValue else { return }
        var dropped = record
        (dropped.key, dropped.value, dropped.row, dropped.version) = ([], [], 0, 0)
        dropped.flags = BackupRecord.Flags.isDrop.rawValue
        var file = file
        file.parts.insert(.record(dropped), at: place + 1)
        add("\(kind) at \(place) dropped", nil, file)
    }

    private mutating func addManifests() {
        let text = file.manifest.text
        let rev = text.split(separator: ",").first { $0.hasPrefix("\"rev\":") }.map(String.init) ?? ""
        for number in ["0", "1", "-1", "9007199254740992", "9223372036854775807", "18446744073709551615", "\"x\""] {
            add("manifest: rev \(number)", nil, file.saying(manifest: text.replacing(rev, with: "\"rev\":\(number)")))
        }
        for extreme in [
            "createdAt", "schema", "domains", "documents", "settings", "collections", "attachments", "namespaces",
            "models",
        ] {
            guard let start = text.range(of: "\"\(extreme)\":") else { continue }
            let end = text[start.upperBound...].firstIndex { $0 == "," || $0 == "}" } ?? text.endIndex
            for number in ["-9223372036854775808", "9223372036854775807", "0", "\"\\n\""] {
                add(
                    "manifest: \(extreme) \(number)", nil,
                    file.saying(manifest: text.replacingCharacters(start.upperBound..<end, number)))
            }
        }
        for (what, changed) in [
            ("two lines", text + "\n{}"), ("white space", text.replacing("\"rev\"", with: " \"rev\"")),
            ("an escape", text.replacing("\"include\":[]", with: "\"include\":[\"\\u001b[2J\"]")),
            ("an epoch of lines", text.replacing("\"epoch\":\"", with: "\"epoch\":\"\\n")), ("nothing", ""),
            ("no object", "[]"), ("a part", String(text.dropLast())),
        ] { add("manifest: \(what)", nil, file.saying(manifest: changed)) }
    }
}

extension String {
    /// Without Foundation.
    fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }

    fileprivate func replacingCharacters(_ range: Range<Index>, _ text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}

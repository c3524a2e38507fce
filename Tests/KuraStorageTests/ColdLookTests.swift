import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Requests about many documents that are on the disk alone.
@Suite struct ColdLookTests {
    private let directory = TemporaryDirectory()
    private let configuration: StorageConfiguration
    private static let ids = (0..<800).map { "d\($0 * 7919 % 800)" }
    private static let text = String(repeating: "x", count: 3000)

    init() {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.fold.overlayBytes = 64 << 20
        self.configuration = configuration
    }

    private static func value(_ id: String) -> String { "{\"k\":\"\(id)\",\"text\":\"\(text)\"}" }

    private func fill() throws {
        let storage = try IndexHarness(configuration)
        try storage.configure("[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}]")
        try storage.configure(
            references: "[{\"field\":\"p\",\"collection\":\"c\",\"onDelete\":\"cascade\"}]", in: "children")
        for id in Self.ids {
            try storage.put(id, Self.value(id))
            try storage.put("of-\(id)", "{\"p\":\"\(id)\",\"text\":\"\(Self.text)\"}", in: "children")
        }
        try storage.settle()
    }

    /// The tables' pages are in nobody's memory any more.
    private func forget() throws {
        for end in ["", "-wal"] {
            let file = open(configuration.tablesPath + end, O_RDONLY | O_CLOEXEC)
            try #require(file >= 0)
            defer { close(file) }
            try #require(fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
        }
    }

    /// Begins again as often as it takes, reading in what is cold between.
    /// - Returns: how often it was begun.
    private func attempts(
        _ storage: IndexHarness, _ gather: () -> Void, _ body: (DocumentsStore.Batch) throws(DocumentsError) -> Void
    ) throws -> Int {
        let tables = try TableReader(configuration)
        var count = 0
        while true {
            count += 1
            do throws(DocumentsError) {
                _ = try with("c") { (c) throws(DocumentsError) in try storage.documents.putMany(c, body) }
                return count
            } catch {
                try #require(error == .engine(.cold))
                gather()
                try tables.warm(try #require(storage.documents.coldLook))
            }
        }
    }

    @Test func `what many deletions look for is read in together, and what goes along with them`() throws {
        try fill()
        let storage = try IndexHarness(configuration)
        try forget()
        let ids = Self.ids.map { Array($0.utf8) }
        let count = try attempts(storage) {
            with("c") { storage.documents.alsoLook(toDelete: ids, from: $0) }
        } _: { (batch) throws(DocumentsError) in
            for id in ids { _ = try id.lend { (id) throws(DocumentsError) in try batch.delete(id) } }
        }
        // The first pages of the trees are met one by one. (What the kernel would not forget is met at once.)
        #expect((1...12).contains(count), "\(count)")
        #expect(with("c") { storage.documents.count($0).count } == 0)
        #expect(with("children") { storage.documents.count($0).count } == 0)
    }

    @Test func `what many writes are held against is read in together`() throws {
        try fill()
        let storage = try IndexHarness(configuration)
        try forget()
        let values = Self.ids.map { Array(Self.value($0 + "-new").utf8) }
        let all = Array(values.joined())
        let count = try attempts(storage) {
            all.withBytes { all in
                var end = 0
                let documents = zip(Self.ids, values).map { (id, value) in
                    end += value.count
                    return (id: Array(id.utf8) as [UInt8]?, value: all.extracting(end - value.count..<end))
                }
                with("c") { storage.documents.alsoLook(toWrite: documents, into: $0) }
            }
        } _: { (batch) throws(DocumentsError) in
            for (id, value) in zip(Self.ids, values) {
                try with(id) { (id) throws(DocumentsError) in
                    try value.lend { (value) throws(DocumentsError) in
                        try batch.put(id, value, isNewID: false, ifRev: nil)
                    }
                }
            }
        }
        #expect((1...12).contains(count), "\(count)")
        try storage.settle()
        #expect(try storage.difference() == nil)
    }
}

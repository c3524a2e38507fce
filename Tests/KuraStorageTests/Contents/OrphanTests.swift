import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Which contents of attachments belong to nothing, beside a housekeeper that is behind.
@Suite final class AttachmentOrphanTests {
    private let directory = TemporaryDirectory()
    private let housekeeper = try! Housekeeper()
    private let configuration: StorageConfiguration
    private let storage: IndexHarness
    private let files: AttachmentFiles
    private let digest = ContentDigest([UInt8](repeating: 7, count: ContentDigest.byteCount))

    init() throws {
        configuration = .tiny(directory.path)
        storage = try IndexHarness(configuration)
        for path in [configuration.attachmentsDirectory, configuration.temporaryDirectory] {
            try FileSystem.makeDirectory(path)
        }
        files = AttachmentFiles(configuration, housekeeper: housekeeper, recovered: storage.ledger)
        settle()
    }

    deinit {
        files.stop()
        housekeeper.stop()
    }

    /// What the housekeeper was asked for is done.
    private func settle() {
        let isDone = Semaphore()
        housekeeper.submit { isDone.signal() }
        isDone.wait()
    }

    private func adopt() throws -> AttachmentPin {
        let path = configuration.temporaryDirectory + "/copy"
        try write("abc", to: path)
        return try files.adopt(path, digest)
    }

    private func write(_ text: String, to path: String) throws {
        let file = try FileSystem.open(path, O_RDWR | O_CREAT)
        defer { close(file) }
        try with(text) { (bytes) throws(StorageFault) in try FileSystem.write(file, bytes, at: 0, path: path) }
    }

    private var isThere: Bool { FileSystem.exists(AttachmentFiles.path(digest, configuration)) }
    private func isOrphan(isKnown: Bool = false) throws -> Bool { try files.isOrphan(digest) { isKnown } }

    @Test func `a content that waits to be removed is none, as long as the housekeeper may take`() throws {
        var pin: AttachmentPin? = try adopt()
        #expect(try !isOrphan())
        let goesOn = Semaphore()
        housekeeper.submit { goesOn.wait() }
        withExtendedLifetime(pin) {}
        pin = nil
        #expect(isThere)
        #expect(try !isOrphan())
        goesOn.signal()
        settle()
        #expect(!isThere)
        #expect(try !isOrphan())
    }

    @Test func `a content whose removal a backup has postponed is none`() throws {
        files.beginKeeping()
        withExtendedLifetime(try adopt()) {}
        settle()
        #expect(isThere)
        #expect(try !isOrphan())
        files.endKeeping()
        settle()
        #expect(!isThere)
    }

    @Test func `a content that nothing leads to is one, and stays`() throws {
        let place = AttachmentFiles.path(digest, configuration)
        try FileSystem.makeDirectory(String(place.dropLast(ContentDigest.length - 1)))
        try write("abc", to: place)
        #expect(try isOrphan())
        #expect(try !isOrphan(isKnown: true))
        settle()
        #expect(isThere)
        #expect(try isOrphan())
    }

    @Test func `a content that comes while it is looked at waits, and one that goes then goes afterwards`() throws {
        withExtendedLifetime(try adopt()) {}
        settle()
        let (files, digest) = (files, digest)
        let hasCome = Guarded(false)
        let isDone = Semaphore()
        let isOrphan = try files.isOrphan(digest) {
            try? WorkerThread(name: "adopt", isBackground: false) {
                files.keeping(digest) { hasCome.withLock { $0 = true } }
                isDone.signal()
            }.detach()
            usleep(20_000)
            #expect(!hasCome.withLock { $0 })
            return false
        }
        #expect(!isOrphan)
        isDone.wait()
        settle()
        try write("abc", to: AttachmentFiles.path(digest, configuration))
        let isOther = try files.isOrphan(digest) {
            // As a fold that counts it as none.
            files.removeIfUnused([digest])
            settle()
            return true
        }
        #expect(!isOther)
        settle()
        #expect(!isThere)
    }
}

/// The same of blobs, whose files the cache thread removes.
@Suite struct BlobOrphanTests {
    private final class Pause: CacheJob {
        let goesOn = Semaphore()
        let isDone = Semaphore()
        func run(_ files: CacheFiles) {
            goesOn.wait()
            isDone.signal()
        }
    }

    private let digest = ContentDigest([UInt8](repeating: 7, count: ContentDigest.byteCount))

    @Test func `a content that waits to be removed is none, and one that nobody holds is`() throws {
        let world = try CacheWorld()
        let files = world.blobs.files
        // It is submitted behind the removal of what a kill has left.
        settle(world)
        let place = files.path(digest)
        try FileSystem.makeDirectory(String(place.dropLast(ContentDigest.length - 1)))
        close(try FileSystem.open(place, O_RDWR | O_CREAT))
        #expect(files.isOrphan(digest))
        files.holdLoaded(digest)
        #expect(!files.isOrphan(digest))
        let pause = Pause()
        world.caches.writer.submit(pause)
        files.release(digest)
        #expect(FileSystem.exists(place) && !files.isOrphan(digest))
        pause.goesOn.signal()
        settle(world)
        #expect(!FileSystem.exists(place) && !files.isOrphan(digest))
    }

    @Test func `a content whose file is gone is missing while something refers to it`() throws {
        let world = try CacheWorld()
        let files = world.blobs.files
        settle(world)
        files.holdLoaded(digest)
        #expect(files.missing() == [digest])
        let place = files.path(digest)
        try FileSystem.makeDirectory(String(place.dropLast(ContentDigest.length - 1)))
        close(try FileSystem.open(place, O_RDWR | O_CREAT))
        #expect(files.missing().isEmpty)
        files.release(digest)
        settle(world)
        #expect(!FileSystem.exists(place) && files.missing().isEmpty)
    }

    /// What the cache thread was asked for is done.
    private func settle(_ world: CacheWorld) {
        let pause = Pause()
        pause.goesOn.signal()
        world.caches.writer.submit(pause)
        pause.isDone.wait()
    }
}

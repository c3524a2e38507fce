import KuraBytes
import SQLite

/// The cache's files as one thread has them open. Belongs to that thread.
final class CacheFiles {
    /// The file that both rooms share.
    static let main = "cache.sqlite"

    private let configuration: StorageConfiguration
    private let directory: String
    private let layout: CacheFile.Layout
    let isReader: Bool
    /// The last run ended without closing the files.
    private let isDoubtful: Bool
    private let boot: Boot?
    /// Which files are written anew when they are first opened; nil: none.
    private let copying: CacheCopy.Rule?
    private(set) var open: [String: CacheFile] = [:]
    /// Files that have been opened in this run.
    private var known: Set<String> = []
    var shrinking = CacheShrinking()
    /// Names of the files that were dropped since `takeDropped`.
    private(set) var dropped: [String] = []
    /// What a reader has found damaged, each once until it begins anew; the writer drops it.
    private var damaged: Set<String> = []
    private var untold: [String] = []

    /// `isReader`: files are opened only to read, and when they are there.
    /// `copying`: which files are written anew when they are first opened.
    init(
        _ configuration: StorageConfiguration, layout: CacheFile.Layout, isReader: Bool, isDoubtful: Bool,
        boot: Boot? = nil, copying: CacheCopy.Rule? = nil
    ) {
        self.boot = boot
        self.copying = copying
        self.configuration = configuration
        directory = configuration.cacheDirectory
        self.layout = layout
        self.isReader = isReader
        self.isDoubtful = isDoubtful
    }

    var clock: Clock { configuration.clock }

    /// The file of that name, opened when it is asked for first.
    func file(_ name: String) throws(SQLiteError) -> CacheFile {
        if let file = open[name] { return file }
        let path = directory + "/" + name
        // Nobody has it open yet. A process that does not outlive this has the next start pass over it.
        if known.insert(name).inserted, let copying, !isReader { CacheCopy.run(path, layout, copying) }
        boot?.opens(cache: name)
        defer { boot?.hasOpened() }
        let file =
            isReader
            ? try CacheFile.openForReading(path)
            : try CacheFile.openForWriting(path, layout, isDoubtful: isDoubtful, configuration)
        if file.replacesDamaged { dropped.append(name) }
        open[name] = file
        return file
    }

    /// Whether there is such a file, open or not.
    func exists(_ name: String) -> Bool { open[name] != nil || FileSystem.size(directory + "/" + name) > 0 }

    /// Names of the files that there are, open or not, or of which there is a part.
    func names(beginningWith prefix: String) -> [String] {
        let names = (try? FileSystem.names(in: directory)) ?? []
        return Set(
            names.filter { $0.hasPrefix(prefix) }.compactMap { name in
                name.firstRange(of: ".sqlite").map { String(name[..<$0.upperBound]) }
            }
        ).sorted()
    }

    /// Removes a file and all that is in it: an unlink.
    /// `isExpected`: nobody has to be told.
    func drop(_ name: String, isExpected: Bool = false) {
        forget(name)
        if !isReader { CacheFile.remove(directory + "/" + name) }
        if !isExpected { dropped.append(name) }
    }

    /// Where a file lies.
    func path(_ name: String) -> String { directory + "/" + name }

    /// Closes a file; the next use opens what is there then.
    func forget(_ name: String) { open.removeValue(forKey: name)?.close() }

    /// Another file has the name now, or none.
    func beginAnew(_ name: String) {
        forget(name)
        damaged.remove(name)
    }

    /// Drops those that were found damaged.
    func dropDamaged() {
        for (name, file) in open where file.isDamaged { if isReader { giveUp(damaged: name) } else { drop(name) } }
    }

    /// A reader has found damage that does not go with opening the file again.
    func giveUp(damaged name: String) {
        forget(name)
        if damaged.insert(name).inserted { untold.append(name) }
    }

    func takeDamaged() -> [String] {
        defer { untold = [] }
        return untold
    }

    func takeDropped() -> [String] {
        defer { dropped = [] }
        return dropped
    }

    func closeAll() {
        for file in open.values { file.close() }
        open = [:]
    }

    /// Names of the files that there are, sizes in bytes.
    static func sizes(_ configuration: StorageConfiguration) -> [(name: String, bytes: Int)] {
        let names = (try? FileSystem.names(in: configuration.cacheDirectory)) ?? []
        return names.filter { $0.hasSuffix(".sqlite") }.sorted().map { name in
            let path = configuration.cacheDirectory + "/" + name
            return (name, FileSystem.size(path) + FileSystem.size(path + "-wal"))
        }
    }
}

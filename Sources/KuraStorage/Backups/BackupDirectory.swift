import Glibc
import KuraBytes

/// DATA/backups: what is there, what of it is kept, and the newest that can be relied on. Everything here waits for the disk.
public enum BackupDirectory {
    static let suffix = ".kurabackup"
    static let bundleSuffix = ".kurabundle"
    static let draftSuffix = ".part"
    /// How the names of scheduled snapshots begin.
    public static let scheduledPrefix = "auto-"
    /// How the names of those end that go without something that nobody has asked to be left out: an encrypted one says so nowhere else.
    static let partialSuffix = "-partial"

    public struct Entry: Sendable, Equatable {
        public var name: String
        public var bytes: Int
        /// When it was finished, milliseconds since 1970.
        public var createdAt: Int64
        public var isScheduled: Bool { name.hasPrefix(BackupDirectory.scheduledPrefix) }
        var isPartial: Bool { isScheduled && name.hasSuffix(BackupDirectory.partialSuffix) }
    }

    /// How many scheduled snapshots are kept: the newest of each of so many hours, days and weeks that have one.
    public struct Keep: Sendable, Equatable {
        public var hourly: Int
        public var daily: Int
        public var weekly: Int

        public init(hourly: Int = 24, daily: Int = 7, weekly: Int = 4) {
            (self.hourly, self.daily, self.weekly) = (hourly, daily, weekly)
        }
    }

    /// - Returns: whether a backup may be called so: 1 to 64 letters, digits, dots, dashes and underscores, not a dot first.
    public static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 64 && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
    }

    public static func path(_ name: String, _ configuration: StorageConfiguration) -> String {
        path(name, configuration, .backup)
    }

    static func path(_ name: String, _ configuration: StorageConfiguration, _ kind: BackupFormat.Kind) -> String {
        configuration.backupsDirectory + "/" + name + (kind == .backup ? suffix : bundleSuffix)
    }

    /// Where a backup is written before it is whole: a name that is new, so that nobody removes another's.
    static func draft(of place: String) -> String {
        "\(place).\(String(UInt64.random(in: 0 ... .max), radix: 36))\(draftSuffix)"
    }

    /// Whether a file is a backup, or a bundle, that was being written.
    static func isDraft(_ file: String) -> Bool {
        guard file.hasSuffix(draftSuffix) else { return false }
        let stem = file.dropLast(draftSuffix.count)
        // Earlier versions gave it no part of its own.
        let place = stem.lastIndex(of: ".").map { stem[..<$0] } ?? stem
        return [suffix, bundleSuffix].contains { stem.hasSuffix($0) || place.hasSuffix($0) }
    }

    /// All finished backups, the newest first. Links and what else is no file are none.
    public static func list(_ configuration: StorageConfiguration) throws(BackupFault) -> [Entry] {
        let names: [String]
        do throws(StorageFault) { names = try FileSystem.names(in: configuration.backupsDirectory) } catch {
            if case .system(errno: ENOENT, _, _) = error { return [] }
            throw BackupFault(error)
        }
        var entries: [Entry] = []
        for file in names where file.hasSuffix(suffix) {
            let name = String(file.dropLast(suffix.count))
            guard isName(name) else { continue }
            let path = path(name, configuration)
            guard FileSystem.isRegular(path) else { continue }
            entries.append(
                Entry(name: name, bytes: FileSystem.size(path), createdAt: FileSystem.modified(path)))
        }
        return entries.sorted { ($0.createdAt, $0.name) > ($1.createdAt, $1.name) }
    }

    /// What a backup's header and end say, without reading what is between; nil when it is encrypted or damaged.
    public static func glance(_ name: String, _ configuration: StorageConfiguration) -> (
        isEncrypted: Bool, manifest: BackupManifest?
    ) {
        let path = path(name, configuration)
        guard let descriptor = try? FileSystem.openRegular(path) else { return (false, nil) }
        defer { close(descriptor) }
        do throws(BackupFault) {
            let reader = try BackupReader(descriptor, path: path)
            return (false, try reader.glance(size: FileSystem.size(path)))
        } catch { return (error == .keyNeeded, nil) }
    }

    /// Takes a backup away.
    public static func remove(_ name: String, _ configuration: StorageConfiguration) throws(BackupFault) {
        do throws(StorageFault) {
            try FileSystem.remove(path(name, configuration))
            try FileSystem.syncDirectory(configuration.backupsDirectory)
        } catch { throw BackupFault(error) }
    }

    // MARK: Thinning

    /// Which of the scheduled snapshots are not kept. Those that somebody named are nobody's to thin.
    public static func superfluous(_ entries: [Entry], _ keep: Keep) -> [Entry] {
        let scheduled = entries.filter(\.isScheduled).sorted { $0.createdAt > $1.createdAt }
        var kept: Set<String> = []
        for (milliseconds, count) in [
            (Int64(3_600_000), keep.hourly), (86_400_000, keep.daily), (604_800_000, keep.weekly),
        ] {
            var periods: Set<Int64> = []
            for entry in scheduled {
                // Weeks begin on Mondays: 1970 began on a Thursday.
                let shift: Int64 = milliseconds == 604_800_000 ? 3 * 86_400_000 : 0
                let period = (entry.createdAt + shift) / milliseconds
                guard !periods.contains(period) else { continue }
                guard periods.count < count else { break }
                periods.insert(period)
                kept.insert(entry.name)
            }
        }
        // Whatever is asked for, the newest stays: the next start may need it.
        if let newest = scheduled.first { kept.insert(newest.name) }
        return scheduled.filter { !kept.contains($0.name) }
    }

    /// The same of those in DATA/backups. Of those that have left out nothing for damage the newest stays as well: it may be the last
    /// that has a content which is damaged now. So does the newest that does not go without the secrets for their being locked, or
    /// damaged.
    ///
    /// `spared`: those that are no later stay, too; milliseconds since 1970.
    public static func superfluous(
        _ entries: [Entry], _ keep: Keep, sparing spared: Int64?, _ configuration: StorageConfiguration
    ) -> [Entry] {
        let going = superfluous(entries, keep).filter { $0.createdAt > spared ?? 0 }
        guard !going.isEmpty else { return [] }
        var (whole, secrets): (String?, String?) = (nil, nil)
        for entry in entries where entry.isScheduled {
            // Of one that is encrypted its name alone tells.
            let (isEncrypted, manifest) = glance(entry.name, configuration)
            let isWhole = isEncrypted && !entry.isPartial
            if whole == nil, isWhole || manifest?.leavesOutDamage == false { whole = entry.name }
            if secrets == nil, isWhole || manifest?.leavesOutSecrets == false { secrets = entry.name }
            if whole != nil, secrets != nil { break }
        }
        return going.filter { $0.name != whole && $0.name != secrets }
    }

    /// Removes what a kill has left of a backup: its drafts that nobody has open.
    static func removeLeftDrafts(of place: String, in directory: String) {
        for file in (try? FileSystem.names(in: directory)) ?? [] where isDraft(file) {
            let path = directory + "/" + file
            guard path.hasPrefix(place + "."), let descriptor = try? FileSystem.openRegular(path) else { continue }
            defer { close(descriptor) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { FileSystem.tryToRemove(path) }
        }
    }

    /// Removes drafts that were never finished, as old as a day.
    public static func removeDrafts(_ configuration: StorageConfiguration, now: Int64) {
        for file in (try? FileSystem.names(in: configuration.backupsDirectory)) ?? []
        where isDraft(file) {
            let path = configuration.backupsDirectory + "/" + file
            if FileSystem.modified(path) < now - 86_400_000 { FileSystem.tryToRemove(path) }
        }
    }

    // MARK: For a start that has lost its tables

    /// A backup that a start may go on from.
    struct Snapshot {
        var path: String
        var manifest: BackupManifest
        /// Records in it that no daemon writes: they are left out.
        var unfit: [RecoveredOmission] = []
    }

    /// The newest snapshot that is whole and has everything. Each is read to its end before it is believed; what is encrypted, damaged
    /// or a part only is passed over.
    /// `report`: takes a line for each that is damaged.
    static func newestSnapshot(
        _ configuration: StorageConfiguration, report: (String) -> Void = { _ in }
    ) -> Snapshot? {
        for entry in (try? list(configuration)) ?? [] {
            let path = path(entry.name, configuration)
            do throws(BackupFault) {
                var records = RecordGuard(.backup, leavesOut: true)
                let manifest = try BackupRestore.verify(path, kind: .backup, &records).manifest
                guard manifest.include.isEmpty else { continue }
                return Snapshot(path: path, manifest: manifest, unfit: records.omissions)
            } catch {
                if error != .keyNeeded { report("backup \(entry.name) is passed over: \(error)") }
            }
        }
        return nil
    }
}

import Glibc
import KuraStorage

/// What lies in the places of the daemon's own files, whose it is and who may read it.
extension DirectoryExamination {
    /// What the next start would refuse, or set aside.
    mutating func lookAtPlaces() {
        let keeper = PlaceKeeper(configuration, owner: Self.mode(configuration.dataDirectory)?.owner ?? geteuid())
        for fault in keeper.faults() {
            if let refusal = keeper.refusal(fault) {
                add(.error, "places", keeper.line(fault), advice: "\(refusal); \(Self.starts)")
            } else if case .mode(let mode) = fault.what {
                // What is open to others is told below.
                let own: UInt32 = fault.place.kind == .directory ? 0o700 : 0o600
                guard mode & own != own else { continue }
                add(.warning, "places", keeper.line(fault), advice: "the next start opens it to its user again")
            } else {
                add(.warning, "places", keeper.line(fault), advice: "the next start sets it aside, and begins without")
            }
        }
        let log = configuration.logDirectory
        let strays = FileSystem.isDirectory(log) ? (try? LogFiles.strays(in: log)) ?? [] : []
        if let first = strays.first {
            add(
                .warning, "places", "\(log)/\(first) is no file of the daemon's" + Self.more(strays.count - 1),
                advice: "move it away: nobody reads it, and no start minds it")
        }
    }

    /// What is inside is kept from others by the directory itself; what is open all the same was changed by somebody.
    mutating func lookAtModes() {
        let owner = Self.mode(configuration.dataDirectory)?.owner ?? geteuid()
        var open: [String] = []
        var foreign: [String] = []
        for directory in [
            configuration.logDirectory, configuration.durableDirectory, configuration.keysDirectory,
            configuration.cacheDirectory, configuration.backupsDirectory, configuration.quarantineDirectory,
        ] {
            // Nothing is listed through a link.
            let names = FileSystem.isDirectory(directory) ? try? FileSystem.names(in: directory) : nil
            for path in [directory] + (names ?? []).map({ directory + "/" + $0 }) {
                guard let (mode, user) = Self.mode(path) else { continue }
                if mode & 0o077 != 0 { open.append(path) }
                if user != owner { foreign.append(path) }
            }
        }
        if let first = open.first {
            add(
                .warning, "modes", "\(first) is open to others" + Self.more(open.count - 1),
                advice: "chmod go= it; only the mode of the directory above keeps others out")
        }
        if let first = foreign.first {
            add(
                .error, "modes", "\(first) does not belong to user \(owner)" + Self.more(foreign.count - 1),
                advice: "chown it to user \(owner): the daemon cannot write it else")
        }
        if open.isEmpty, foreign.isEmpty { add(.ok, "modes", "nothing inside is open to others or belongs to them") }
    }

    /// What reads and checks have met while a daemon ran.
    mutating func lookAtDamage(_ record: BootRecord) {
        guard !record.damagedFile.isEmpty || record.checkProblems > 0 else { return }
        let file = record.damagedFile.isEmpty ? "durable/kura.sqlite" : record.damagedFile
        add(
            .error, "damage",
            record.damagedFile.isEmpty
                ? "the last look through everything has found \(record.checkProblems) problems"
                : "\(file) was found damaged while a daemon served",
            advice: "'kura storage check' tells all of it. \(DamageHelp.text(file, configuration))")
    }
}

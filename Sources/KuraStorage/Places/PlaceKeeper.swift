import CSyscalls
import Glibc
import KuraBytes

// Safety: Swift lends paths as C strings for a call, and numbers of the types that the functions write.

/// Looks at every place of a data directory, and puts in order what is not as it should be.
///
/// Nothing is followed through a link, and nothing is deleted: what is in the way is renamed into the quarantine, or beside itself where the
/// quarantine cannot take it.
package struct PlaceKeeper {
    /// What is wrong with what lies in a place.
    package struct Fault: Equatable, Sendable {
        package enum What: Equatable, Sendable {
            /// It is something else; `target`: what a link leads to, when that is there.
            case kind(String, target: String?)
            case owner(UInt32)
            case mode(UInt32)
        }
        package var place: Place
        package var what: What
    }

    private let configuration: StorageConfiguration
    /// Whose all of it has to be.
    private let owner: UInt32
    private let report: (String) -> Void

    package init(
        _ configuration: StorageConfiguration, owner: UInt32 = geteuid(), report: @escaping (String) -> Void = { _ in }
    ) {
        (self.configuration, self.owner, self.report) = (configuration, owner, report)
    }

    private func path(_ place: Place) -> String { configuration.dataDirectory + "/" + place.name }

    // MARK: Looking

    /// What is wrong, by place, without changing anything. What lies in a directory that is not ours is not looked at.
    package func faults() -> [Fault] {
        var faults: [Fault] = []
        for place in Place.all(configuration, withKeys: !configuration.keys.goesWithout) {
            let isBelowFault = faults.contains { fault in
                if case .mode = fault.what { return false }
                return place.name.hasPrefix(fault.place.name + "/")
            }
            if !isBelowFault, let fault = fault(of: place) { faults.append(fault) }
        }
        return faults
    }

    /// Nil when nothing is wrong, or nothing is there.
    func fault(of place: Place) -> Fault? {
        var mode: UInt32 = 0
        var user: UInt32 = 0
        guard unsafe csys_mode(path(place), &mode, &user, 0) == 0 else { return nil }
        let (wanted, own): (mode_t, UInt32) = place.kind == .directory ? (S_IFDIR, 0o700) : (S_IFREG, 0o600)
        guard mode & UInt32(S_IFMT) == UInt32(wanted) else {
            return Fault(place: place, what: .kind(Self.word(mode), target: target(of: place, mode)))
        }
        guard user == owner else { return Fault(place: place, what: .owner(user)) }
        // The data directory keeps others out. Files that they could read if it did not are what an umask makes.
        let open: UInt32 = place.kind == .directory || place.isPrivate ? 0o077 : 0o022
        guard mode & own == own, mode & open == 0 else { return Fault(place: place, what: .mode(mode & 0o7777)) }
        return nil
    }

    private static func word(_ mode: UInt32) -> String {
        switch mode_t(mode) & S_IFMT {
        case S_IFREG: "a file"
        case S_IFDIR: "a directory"
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    /// What a link leads to, when that is of the kind that belongs there. Only to tell it.
    private func target(of place: Place, _ mode: UInt32) -> String? {
        guard mode & UInt32(S_IFMT) == UInt32(S_IFLNK), let resolved = unsafe realpath(path(place), nil) else {
            return nil
        }
        defer { unsafe free(resolved) }
        let target = unsafe String(cString: resolved)
        return FileSystem.isDirectory(target) == (place.kind == .directory) ? target : nil
    }

    // MARK: Telling

    /// Why a start is refused for it, with the command that helps; nil when it is not.
    package func refusal(_ fault: Fault) -> String? {
        guard fault.place.stake == .data else { return nil }
        let word = ShellWord.quoted(path(fault.place))
        switch fault.what {
        case .mode: return nil
        case .owner(let user):
            return
                "\(path(fault.place)) belongs to user \(user), this is user \(owner): chown -R \(owner) "
                + ShellWord.quoted(configuration.dataDirectory)
        case .kind(let kind, let target?):
            return "\(path(fault.place)) is \(kind), which is not followed: "
                + "rm \(word) && mv \(ShellWord.quoted(target)) \(word)"
        case .kind(let kind, nil):
            return "\(path(fault.place)) is \(kind), and a \(fault.place.kind) belongs there: "
                + "mv \(word) \(ShellWord.quoted(path(fault.place) + ".aside")), and put back what was there"
                + (fault.place.isKey
                    ? "" : "; a start without it goes on from what the log and the newest snapshot have")
        }
    }

    /// What a start does about it.
    package func line(_ fault: Fault) -> String {
        switch fault.what {
        case .kind(let word, _): "\(path(fault.place)) is \(word), and a \(fault.place.kind) belongs there"
        case .owner(let user): "\(path(fault.place)) belongs to user \(user), this is user \(owner)"
        case .mode(let mode): "\(path(fault.place)) has mode \(String(mode, radix: 8))"
        }
    }

    // MARK: Putting in order

    /// - Throws: `refused` when data may be elsewhere. Nothing has been changed then.
    func check() throws(StorageFault) {
        for fault in faults() { if let refusal = refusal(fault) { throw .refused(refusal) } }
    }

    /// Repairs modes and sets aside what is in the way, each with a line for the operator. After `check`.
    func putInOrder() throws(StorageFault) {
        // Parents come before what is in them, and directories can be listed after the first pass.
        for places in [Place.named, Place.all(configuration)] {
            for place in places where !(place.isKey && configuration.keys.goesWithout) { try mend(place) }
        }
    }

    /// Mends one place.
    func mend(_ fault: Fault) throws(StorageFault) {
        if let refusal = refusal(fault) { throw .refused(refusal) }
        let path = path(fault.place)
        if case .mode = fault.what {
            let mode: mode_t = fault.place.kind == .directory ? 0o700 : 0o600
            guard unsafe chmod(path, mode) == 0 else { throw FileSystem.fail("chmod", path) }
            let advice =
                fault.place.isPrivate
                ? "; whoever could read it may have: kura secrets rotate --root-key makes new ones" : ""
            report("\(line(fault)): it is \(String(mode, radix: 8)) again\(advice)")
            return
        }
        let aside = try setAside(fault.place.name)
        report("\(line(fault)): it was set aside as \(aside), and nothing in it was read")
        guard fault.place.kind == .directory else { return }
        try FileSystem.makeDirectory(path)
    }

    func mend(_ place: Place) throws(StorageFault) { if let fault = fault(of: place) { try mend(fault) } }

    /// Takes away what a run before has left, by `remove`; what is another user's, or does not go, is set aside. Mount points stay where
    /// they are, and what they are in.
    /// `name`: below the data directory.
    func clear(_ name: String, _ remove: (String) throws(StorageFault) -> Void) throws(StorageFault) {
        let path = configuration.dataDirectory + "/" + name
        var mode: UInt32 = 0
        var user: UInt32 = 0
        guard unsafe csys_mode(path, &mode, &user, 0) == 0 else { return }
        var problem = "it belongs to user \(user), this is user \(owner)"
        if user == owner {
            do throws(StorageFault) { return try remove(path) } catch {
                guard case .system(let code, _, _) = error, [EACCES, EPERM, EBUSY].contains(code) else { throw error }
                problem = "\(error)"
                if code == EBUSY { return report("\(path) stays where it is: \(problem)") }
            }
        }
        do throws(StorageFault) {
            report("\(path) was set aside as \(try setAside(name)): \(problem)")
        } catch { report("\(path) stays where it is: \(problem); \(error)") }
    }

    /// Renames what lies there out of the way; it is what it was, under another name.
    /// - Returns: that name, below the data directory.
    private func setAside(_ name: String) throws(StorageFault) -> String {
        let (data, quarantine) = (configuration.dataDirectory, configuration.quarantineDirectory)
        let date = Quarantine.name(at: configuration.clock.wall)
        func fresh(_ stem: String) -> String {
            var (candidate, number) = (stem, 1)
            var (mode, user): (UInt32, UInt32) = (0, 0)
            while unsafe csys_mode(data + "/" + candidate, &mode, &user, 0) == 0 {
                number += 1
                candidate = "\(stem)-\(number)"
            }
            return candidate
        }
        let parent = name.lastIndex(of: "/").map { data + "/" + name[..<$0] } ?? data
        if name != "quarantine", (try? FileSystem.makeDirectory(quarantine)) != nil,
            fault(of: Place.named[0]) == nil
        {
            let flat = String(name.map { $0 == "/" ? "." : $0 })
            let target = fresh("quarantine/\(Quarantine.placePrefix)\(flat)-\(date)")
            do throws(StorageFault) {
                try FileSystem.rename(data + "/" + name, data + "/" + target)
                for path in [quarantine, parent, data] { try FileSystem.syncDirectory(path) }
                return target
            } catch {
                // A directory of another user's can only be renamed where it is.
                guard case .system(let code, _, _) = error, [EACCES, EPERM, EXDEV].contains(code) else { throw error }
            }
        }
        let target = fresh("\(name).aside-\(date)")
        try FileSystem.rename(data + "/" + name, data + "/" + target)
        try FileSystem.syncDirectory(parent)
        return target
    }
}

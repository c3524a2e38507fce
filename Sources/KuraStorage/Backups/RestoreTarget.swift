import Glibc
import KuraBytes

/// Where a restore makes its data directory: a name in a directory.
struct RestoreTarget {
    /// As it was given, without slashes at its end.
    let path: String
    let name: String
    private let parent: String

    /// - Throws: `refused` when it is no name that can be given to a directory.
    init(_ directory: String) throws(BackupFault) {
        var path = directory
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        parent = PathWalk.parent(of: path)
        self.path = path
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .refused("'\(directory)' has no name that a new directory could get: name that directory itself")
        }
    }

    /// Whether an empty directory is there.
    /// - Throws: `refused` when it is not empty, or something else, and when root must not go there.
    func isTaken() throws(BackupFault) -> Bool {
        do throws(StorageFault) {
            guard let parent = try PathWalk.directory(parent, isMaking: false),
                let information = parent.information(of: name)
            else { return false }
            guard information.st_mode & S_IFMT == S_IFDIR else { throw .refused("\(path) is no directory") }
            let there = try parent.open(name)
            guard try there.isEmpty() else {
                throw .refused("\(path) is not empty: nothing is restored over what is there")
            }
            // What is mounted keeps its place, which the new directory is to get.
            guard (try? there.isMountPoint()) != true else {
                throw .refused(
                    "\(path) is a mount point, whose place no other directory can take: name one in it, "
                        + "--data-dir \(ShellWord.quoted(path + "/kura")), and start the daemon there")
            }
            return true
        } catch { throw BackupFault(error) }
    }

    /// Makes the directory that gets the name at the end.
    func draft() throws(BackupFault) -> DraftDirectory {
        do throws(StorageFault) {
            guard let parent = try PathWalk.directory(parent, isMaking: true) else {
                throw .system(errno: ENOENT, call: "open", path: self.parent)
            }
            let draft = try DraftDirectory.make(in: parent, prefix: name + ".restoring-")
            guard FileSystem.exists(draft.directory.ownPath) else {
                draft.discard()
                throw .refused("/proc is not there, by which a restore stays in the directory that it has made")
            }
            return draft
        } catch { throw BackupFault(error) }
    }
}

extension BackupFault {
    /// The same with the name that people know for a directory: `path` is how it was opened.
    func calling(_ path: String, _ known: String) -> BackupFault {
        switch self {
        case .system(let errno, let call, let place):
            .system(errno: errno, call: call, path: place.replacing(path, with: known))
        case .refused(let why): .refused(why.replacing(path, with: known))
        default: self
        }
    }
}

import Glibc
import Testing

@testable import KuraStorage

/// What is done in a directory that is held open, and what is left alone beside it.
@Suite struct OpenDirectoryTests {
    private let directory = TemporaryDirectory()
    private var victim: String { directory.path + "/victim" }

    init() {
        mkdir(victim, 0o700)
        mkdir(victim + "/inner", 0o700)
        FileTree.write("kept", to: victim + "/file")
        FileTree.write("kept", to: victim + "/inner/file")
    }

    private var victimIsWhole: Bool {
        FileTree.names(victim) == ["file", "inner"] && FileTree.names(victim + "/inner") == ["file"]
            && FileTree.contents(victim + "/file") == Array("kept".utf8)
    }

    @Test func `a link in a directory's place is not emptied, whoever asks for it`() throws {
        let link = directory.path + "/link"
        symlink(victim, link)
        #expect(throws: StorageFault.self) { try FileSystem.removeDirectory(link) }
        #expect(throws: StorageFault.self) { _ = try OpenDirectory(link) }
        #expect(victimIsWhole && FileTree.target(ofLink: link) == victim)
    }

    @Test func `clearing removes links themselves, FIFOs, sockets, and names that are no UTF-8`() throws {
        let path = directory.path + "/full"
        for name in ["", "/a", "/a/b"] { mkdir(path + name, 0o700) }
        symlink(victim, path + "/link")
        symlink(victim, path + "/a/b/link")
        mkfifo(path + "/a/fifo", 0o600)
        FileTree.write("x", to: path + "/a/file")
        var odd = Array((path + "/odd").utf8CString)
        odd.insert(-1, at: odd.count - 1)
        close(creat(odd, 0o600))
        #expect(FileTree.names(path)?.count == 3)
        try FileSystem.removeDirectory(path)
        #expect(access(path, F_OK) != 0 && victimIsWhole)
        // One that is not there is fine.
        try FileSystem.removeDirectory(path)
    }

    @Test func `a directory that is held is cleared where it is now, and what has its name stays`() throws {
        let path = directory.path + "/held"
        mkdir(path, 0o700)
        FileTree.write("x", to: path + "/file")
        let held = try OpenDirectory(path)
        rename(path, directory.path + "/elsewhere")
        symlink(victim, path)
        try held.clear()
        #expect(FileTree.names(directory.path + "/elsewhere") == [] && victimIsWhole && !held.isAt(path))
    }

    @Test func `a file of the log is let go under another name, and in its place where it can have none`() throws {
        let (log, temporary) = (directory.path + "/log", directory.path + "/tmp")
        mkdir(log, 0o700)
        mkdir(temporary, 0o700)
        for place in [temporary, directory.path + "/nowhere"] {
            FileTree.write("rows", to: log + "/000001.log")
            // Of an attempt before it.
            FileTree.write("rows", to: temporary + "/scrub-000001.log")
            let held = open(log + "/000001.log", O_RDONLY | O_CLOEXEC)
            defer { close(held) }
            try LogScrub.letGo(log + "/000001.log", to: place)
            var bytes = [UInt8](repeating: 1, count: 4)
            let count = pread(held, &bytes, 4, 0)
            #expect(count == 4 && bytes == [0, 0, 0, 0])
            #expect(FileTree.names(log) == [] && (FileTree.names(temporary) == []) == (place == temporary))
        }
    }

    @Test func `a file that is erased through a link stays, with its bytes, and so does one that has another name`()
        throws
    {
        let (link, other) = (directory.path + "/scrub-1", directory.path + "/scrub-2")
        symlink(victim + "/file", link)
        Glibc.link(victim + "/inner/file", other)
        try LogScrub.erase(link)
        try LogScrub.erase(other)
        #expect(victimIsWhole && FileTree.contents(victim + "/inner/file") == Array("kept".utf8))
        #expect(FileTree.names(directory.path) == ["victim"])
    }

    // MARK: Mounts

    /// Has a path show what lies under another one, of the same file system.
    private func bind(_ source: String, _ target: String) throws {
        try #require(mount(source, target, nil, UInt(MS_BIND), nil) == 0)
    }

    private func unbind(_ targets: String...) { for target in targets { umount2(target, Int32(MNT_DETACH)) } }

    @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount"))
    func `what is mounted is not removed, though it is of the same file system`() throws {
        let path = directory.path + "/full"
        let (mounted, single) = (path + "/a/mounted", path + "/single")
        for name in ["", "/a", "/a/mounted", "/b"] { mkdir(path + name, 0o700) }
        for name in ["/a/file", "/b/file", "/single"] { FileTree.write("x", to: path + name) }
        defer { unbind(mounted, single) }
        try bind(victim, mounted)
        try bind(victim + "/file", single)
        #expect(throws: StorageFault.self) { try FileSystem.removeDirectory(path) }
        #expect(victimIsWhole && FileTree.names(path) == ["a", "single"] && FileTree.names(path + "/a") == ["mounted"])
        #expect(throws: StorageFault.self) { try FileSystem.removeDirectory(mounted) }
        #expect(throws: StorageFault.self) { try OpenDirectory(mounted).clear() }
        #expect(victimIsWhole)
        unbind(mounted, single)
        try FileSystem.removeDirectory(path)
        #expect(access(path, F_OK) != 0 && victimIsWhole)
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount"))
    func `a start leaves alone what is mounted in tmp or over it, and says so`() throws {
        let data = directory.path + "/data"
        let (tmp, inner, deep) = (data + "/tmp", data + "/tmp/x", data + "/tmp/y/deep")
        for path in [data, tmp, inner, data + "/tmp/y", deep] { mkdir(path, 0o700) }
        FileTree.write("x", to: tmp + "/left")
        FileTree.write("x", to: tmp + "/y/left")
        defer { unbind(inner, deep, tmp) }
        try bind(victim, inner)
        try bind(victim, deep)
        var lines: [String] = []
        _ = try DataDirectory.open(data, configuration: .tiny(data)) { lines.append($0) }
        #expect(victimIsWhole && FileTree.names(tmp) == ["x", "y"] && FileTree.names(tmp + "/y") == ["deep"])
        for place in ["x", "y"] {
            #expect(
                lines.contains { $0.hasPrefix("\(tmp)/\(place) stays where it is:") && $0.contains("a mount point") },
                "\(lines)")
        }
        unbind(inner, deep)
        try bind(victim, tmp)
        lines = []
        _ = try DataDirectory.open(data, configuration: .tiny(data)) { lines.append($0) }
        #expect(victimIsWhole && lines == ["\(tmp) is a mount point: nothing in it is removed"], "\(lines)")
        unbind(tmp)
        _ = try DataDirectory.open(data, configuration: .tiny(data)) { lines.append($0) }
        #expect(FileTree.names(tmp) == [] && victimIsWhole)
    }

    // MARK: Drafts

    @Test func `a draft takes no name that something has, and none of these is touched`() throws {
        let parent = directory.path + "/parent"
        mkdir(parent, 0o700)
        for number in 0..<9 { symlink(victim, "\(parent)/data.restoring-\(number)") }
        var number = -1
        #expect(throws: StorageFault.self) {
            let draft = try DraftDirectory.make(in: OpenDirectory(parent), prefix: "data.restoring-") {
                number += 1
                return "\(number)"
            }
            draft.discard()
        }
        // The second name that is tried from here on is free.
        let draft = try DraftDirectory.make(in: OpenDirectory(parent), prefix: "data.restoring-") {
            number += 1
            return "\(number)"
        }
        FileTree.write("x", to: draft.directory.ownPath + "/file")
        #expect(FileTree.names("\(parent)/data.restoring-\(number)") == ["file"])
        draft.discard()
        #expect(FileTree.names(parent)?.count == 9 && victimIsWhole)
    }

    @Test func `a draft that was exchanged gets no name, and what has taken its place stays as it is`() throws {
        let parent = directory.path + "/parent"
        mkdir(parent, 0o700)
        for isLink in [true, false] {
            let draft = try DraftDirectory.make(in: parent, prefix: "data.restoring-")
            FileTree.write("x", to: draft.directory.ownPath + "/file")
            rename(draft.path, parent + "/carried")
            if isLink {
                symlink(victim, draft.path)
            } else {
                mkdir(draft.path, 0o700)
                FileTree.write("theirs", to: draft.path + "/theirs")
            }
            #expect(throws: StorageFault.self) { try draft.publish(as: "data", takesEmpty: false) }
            draft.discard()
            #expect(FileTree.names(parent + "/carried") == [] && victimIsWhole)
            #expect(access(parent + "/data", F_OK) != 0)
            if !isLink { #expect(FileTree.names(draft.path) == ["theirs"]) }
            FileTree.remove(draft.path)
            rmdir(parent + "/carried")
        }
    }

    @Test func `a draft takes the place of nothing, or of an empty directory when it may`() throws {
        let parent = directory.path + "/parent"
        mkdir(parent, 0o700)
        func publish(takesEmpty: Bool) -> Bool {
            do throws(StorageFault) {
                let draft = try DraftDirectory.make(in: parent, prefix: "draft-")
                do throws(StorageFault) { try draft.publish(as: "data", takesEmpty: takesEmpty) } catch {
                    draft.discard()
                    throw error
                }
                return true
            } catch { return false }
        }
        #expect(publish(takesEmpty: false))
        #expect(!publish(takesEmpty: false) && publish(takesEmpty: true))
        FileTree.write("x", to: parent + "/data/file")
        #expect(!publish(takesEmpty: true))
        FileTree.remove(parent + "/data")
        symlink(victim + "/inner", parent + "/data")
        #expect(!publish(takesEmpty: true) && victimIsWhole)
        #expect(FileTree.names(parent) == ["data"])
    }

    // MARK: Walking

    @Test(.enabled(if: geteuid() == 0, "takes root, who may make what is somebody else's"))
    func `root walks through nothing that somebody else can rename or exchange, links on the way counted`() throws {
        let root = directory.path
        for name in ["theirs", "own", "own/inner", "theirs/inner", "open", "open/inner", "sticky", "sticky/inner"] {
            mkdir("\(root)/\(name)", 0o755)
        }
        chown("\(root)/theirs", 1000, 1000)
        chmod("\(root)/open", 0o777)
        chmod("\(root)/sticky", 0o1777)
        symlink("../theirs/inner", "\(root)/own/through")
        symlink("inner", "\(root)/own/within")
        symlink("\(root)/own/inner", "\(root)/sticky/link")
        lchown("\(root)/sticky/link", 1000, 1000)
        func refusal(_ name: String, isRoot: Bool = true) -> String? {
            do throws(StorageFault) {
                let found = try PathWalk.directory("\(root)/\(name)", isMaking: false, isRoot: isRoot)
                return found == nil ? "missing" : nil
            } catch { return error.description }
        }
        for name in ["own", "own/inner", "own/within", "own/../own/./inner/", "sticky", "sticky/inner"] {
            #expect(refusal(name) == nil, "\(name)")
        }
        for name in ["theirs", "theirs/inner", "own/through", "sticky/link"] {
            let why = refusal(name)
            #expect(why?.contains("belongs to user 1000") == true, "\(name): \(why ?? "")")
            #expect(why?.contains("sudo -u '#1000' kurad restore") == true && why?.contains("\n") == false)
            #expect(refusal(name, isRoot: false) == nil, "\(name)")
        }
        #expect(refusal("open/inner")?.contains("can be written by everybody") == true)
        #expect(refusal("own/none") == "missing" && refusal("theirs/none")?.contains("1000") == true)
        #expect(refusal("own/none/below") == "missing")
        // A daemon that starts there, and one of the user's own.
        for name in ["own", "theirs", "theirs/inner", "sticky/link", "open/inner"] {
            let data = "\(root)/\(name)/data"
            var told: [String] = []
            do throws(StorageFault) {
                try PathWalk.checkWay(to: data) { told.append($0) }
                #expect(name == "own")
            } catch {
                let words = name.hasPrefix("open") ? "chmod o-w" : "belongs to user 1000"
                #expect(name != "own" && error.description.contains(words), "\(name): \(error)")
            }
            #expect(told == [] && !FileSystem.exists(data))
            let found = try PathWalk.stranger(along: PathWalk.parent(of: data), for: 1000)
            // The directory with the other's link is root's, where the link leads too.
            #expect((found == nil) == !name.hasPrefix("open"), "\(name)")
        }
        for (path, parent) in [("/a", "/"), ("a", "."), ("a/b//", "a"), ("/", "/")] {
            #expect(PathWalk.parent(of: path) == parent)
        }
        symlink("loop", "\(root)/own/loop")
        #expect(refusal("own/loop")?.contains("loop") == true)
        _ = try PathWalk.directory("\(root)/own/new/er", isMaking: true)
        #expect(FileTree.names("\(root)/own/new") == ["er"])
        #expect(throws: StorageFault.self) { _ = try PathWalk.directory("\(root)/theirs/new", isMaking: true) }
        #expect(FileTree.names("\(root)/theirs") == ["inner"])
    }
}

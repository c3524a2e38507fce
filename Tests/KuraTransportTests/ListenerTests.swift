import Glibc
import KuraSocket
import Synchronization
import Testing

@testable import KuraTransport

@Suite struct ListenerTests {
    private let directory = TemporaryDirectory(prefix: "kura-listener")
    private var path: String { directory.path + "/kura.sock" }

    private func mode(_ path: String) -> mode_t {
        var information = stat()
        return lstat(path, &information) == 0 ? information.st_mode & 0o7777 : 0
    }

    /// Leaves a socket file that nobody listens to.
    private func leaveStale() {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            for (index, byte) in path.utf8.enumerated() { room[index] = byte }
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
        close(descriptor)
    }

    @Test func `a listener knows whether its path leads to it`() throws {
        let listener = try Listener.bind(path: path)
        var places = [listener.isInPlace]
        try #require(rename(path, path + ".aside") == 0)
        places.append(listener.isInPlace)
        // It may lead elsewhere by the next time.
        symlink(path + ".aside", path)
        places.append(listener.isInPlace)
        try #require(rename(path + ".aside", path) == 0)
        places.append(listener.isInPlace)
        #expect(places == [true, false, false, true])
    }

    @Test(arguments: [0o600, 0o660] as [UInt32]) func `the socket has the mode that was asked for`(wanted: UInt32)
        throws
    {
        let listener = try Listener.bind(path: path, mode: wanted)
        #expect(mode(path) == wanted)
        _ = try Socket.connect(to: path)
        guard case .connection(let descriptor) = listener.accept() else {
            Issue.record("nobody came")
            return
        }
        close(descriptor)
        guard case .nothing = listener.accept() else {
            Issue.record("somebody came")
            return
        }
    }

    @Test func `directories that are missing are made, closed to others`() throws {
        let deep = directory.path + "/a/b/kura.sock"
        let listener = try Listener.bind(path: deep)
        #expect(mode(directory.path + "/a/b") == 0o700)
        #expect(mode(directory.path + "/a") == 0o700)
        _ = listener.descriptor
    }

    @Test func `a stale socket file is replaced and the file goes with the listener`() throws {
        leaveStale()
        do {
            let listener = try Listener.bind(path: path)
            _ = try Socket.connect(to: path)
            _ = listener.descriptor
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test func `a file that is no socket is left alone`() throws {
        let descriptor = creat(path, 0o600)
        #expect(write(descriptor, "x", 1) == 1)
        close(descriptor)
        let error = #expect(throws: SystemError.self) { _ = try Listener.bind(path: path) }
        #expect(error?.code == EEXIST)
        var information = stat()
        #expect(lstat(path, &information) == 0 && information.st_size == 1)
        unlink(path)
        // A symbolic link is no socket either, wherever it leads.
        symlink("/nowhere", path)
        #expect(throws: SystemError.self) { _ = try Listener.bind(path: path) }
    }

    @Test func `a listener that was replaced leaves its successor's file alone`() throws {
        func first() throws -> Listener { try Listener.bind(path: path) }
        let successor: Listener
        do {
            let early = try first()
            successor = try Listener.bind(path: path)
            _ = early.descriptor
        }
        _ = try Socket.connect(to: path)
        _ = successor.descriptor
    }

    /// Why nobody listens at `path`; nil when somebody does.
    private func objection() throws -> String? {
        do {
            let listener = try Listener.bind(path: path, mode: 0o660)
            _ = try Socket.connect(to: path)
            _ = listener.descriptor
            return nil
        } catch let error as SystemError { throw error } catch { return "\(error)" }
    }

    @Test(arguments: [0o777, 0o707, 0o2777] as [mode_t])
    func `a directory that everybody may write to is refused by its name`(mode: mode_t) throws {
        chmod(directory.path, mode)
        let objection = try #require(try objection())
        #expect(objection.contains(directory.path + " can be written by everybody"))
        #expect(access(path, F_OK) != 0)
    }

    @Test(arguments: [0o1777, 0o770, 0o2770, 0o711] as [mode_t])
    func `a sticky directory is fine, and one shared with a group`(mode: mode_t) throws {
        chmod(directory.path, mode)
        #expect(try objection() == nil)
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a directory away"))
    func `another user's directory is refused by its name`() throws {
        chown(directory.path, 2001, 2001)
        let objection = try #require(try objection())
        #expect(objection.contains(directory.path + " belongs to user 2001"))
        // Sticky or not, its owner may rename what is in it.
        chmod(directory.path, 0o1777)
        #expect(try self.objection() != nil)
    }

    @Test func `a directory that is made below an open one is closed`() throws {
        chmod(directory.path, 0o777)
        let listener = try Listener.bind(path: directory.path + "/a/kura.sock", mode: 0o660)
        #expect(mode(directory.path + "/a") == 0o711)
        _ = listener.descriptor
    }

    @Test func `a closed listener takes its file along, and nobody else's`() throws {
        var first = try Listener.bind(path: path)
        first.close()
        #expect(access(path, F_OK) != 0)
        let successor = try Listener.bind(path: path)
        first.close()
        _ = try Socket.connect(to: path)
        _ = successor.descriptor
    }

    /// Takes hidden directories away as soon as they are made, and puts its own in their place, with a link to a victim in it.
    private final class Swapper: Sendable {
        let root: String
        let isOver = Atomic<Bool>(false)
        let swaps = Atomic<Int>(0)

        init(_ root: String) { self.root = root }

        func run() {
            var count = 0
            while !isOver.load(ordering: .relaxed) {
                count += 1
                let trap = root + "/trap\(count)"
                mkdir(trap, 0o700)
                symlink(root + "/victim", trap + "/s")
                while !isOver.load(ordering: .relaxed) {
                    guard let name = hidden() else { continue }
                    guard rename(root + "/shared/" + name, root + "/taken\(count)") == 0 else { continue }
                    rename(trap, root + "/shared/" + name)
                    swaps.add(1, ordering: .relaxed)
                    break
                }
            }
        }

        private func hidden() -> String? {
            guard let listing = opendir(root + "/shared") else { return nil }
            defer { closedir(listing) }
            while let entry = readdir(listing) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
                }
                if name.hasPrefix(".kura-") { return name }
            }
            return nil
        }
    }

    // The group of a shared directory may rename what is in it.
    @Test func `whoever swaps the hidden directory leads no change of permissions elsewhere`() throws {
        let shared = directory.path + "/shared"
        let victim = directory.path + "/victim"
        mkdir(shared, 0o770)
        close(creat(victim, 0o600))
        let swapper = Swapper(directory.path)
        let attack = Threads(1) { _ in swapper.run() }
        let deadline = nanoseconds() + 60_000_000_000
        var starts = 0
        while starts < 300 || swapper.swaps.load(ordering: .relaxed) < 30, nanoseconds() < deadline {
            starts += 1
            // Being hindered is an error and no harm.
            do {
                let listener = try Listener.bind(path: shared + "/kura.sock", mode: 0o666)
                _ = listener.descriptor
            } catch is SystemError {}
        }
        swapper.isOver.store(true, ordering: .relaxed)
        attack.join()
        #expect(swapper.swaps.load(ordering: .relaxed) > 0)
        #expect(mode(victim) == 0o600)
    }

    @Test func `a path that does not fit is an error`() {
        let long = directory.path + "/" + String(repeating: "x", count: 120)
        #expect(throws: SystemError.self) { _ = try Listener.bind(path: long) }
    }
}

import Glibc
import Testing

@testable import KuraStorage

@Suite struct DataDirectoryTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/data" }

    private func open(_ path: String) throws(StorageFault) -> DataDirectory {
        try DataDirectory.open(path, configuration: StorageConfiguration(dataDirectory: path))
    }

    private func expectRefusal(_ path: String) {
        do throws(StorageFault) {
            _ = try open(path)
            Issue.record("opened")
        } catch {
            guard case .refused = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func `a directory is made with what belongs in it, closed to others`() throws {
        _ = try open(path)
        for name in ["", "/log", "/durable", "/tmp"] {
            var information = stat()
            #expect(stat(path + name, &information) == 0 && information.st_mode & 0o777 == 0o700)
        }
    }

    @Test func `what lies in tmp is removed, the rest stays`() throws {
        _ = try open(path)
        for name in ["/tmp/left", "/durable/kept"] { close(creat(path + name, 0o600)) }
        _ = try open(path)
        #expect(try FileSystem.names(in: path + "/tmp").isEmpty)
        #expect(try FileSystem.names(in: path + "/durable").contains("kept"))
    }

    @Test func `a second holder is refused with the first one's process, until that lets go`() throws {
        func hold() throws {
            let first = try open(path)
            do throws(StorageFault) {
                _ = try open(path)
                Issue.record("opened twice")
            } catch {
                guard case .inUse(let pid, let held) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(pid == getpid() && held == path)
            }
            _ = consume first
        }
        try hold()
        _ = try open(path)
    }

    @Test func `links, files and open directories are refused`() throws {
        mkdir(directory.path + "/real", 0o700)
        symlink(directory.path + "/real", directory.path + "/link")
        expectRefusal(directory.path + "/link")
        symlink(directory.path + "/nowhere", directory.path + "/dangling")
        expectRefusal(directory.path + "/dangling")
        close(creat(directory.path + "/file", 0o600))
        expectRefusal(directory.path + "/file")
        chmod(directory.path + "/real", 0o710)
        expectRefusal(directory.path + "/real")
        #expect(try FileSystem.names(in: directory.path + "/real").isEmpty)
    }

    @Test func `a lock that is a symbolic link is not followed, but set aside`() throws {
        mkdir(path, 0o700)
        symlink(directory.path + "/elsewhere", path + "/lock")
        _ = try open(path)
        #expect(try FileSystem.names(in: path + "/quarantine").first?.hasPrefix("place-lock-") == true)
        #expect(access(directory.path + "/elsewhere", F_OK) != 0)
    }
}

import Glibc
import Synchronization
import Testing

@testable import KuraStorage

@Suite struct FileSystemTests {
    private let directory = TemporaryDirectory()

    @Test func `a file whose name others take at that moment can be linked`() throws {
        let (place, path) = (directory.path + "/place", directory.path)
        let isDone = Atomic<Bool>(false)
        let links = Atomic<Int>(0)
        @Sendable func make(_ name: String) { Glibc.close(Glibc.open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)) }
        make(place)
        try onThreads(2) { index in
            guard index == 0 else {
                while !isDone.load(ordering: .relaxed) {
                    make(path + "/other")
                    Glibc.rename(path + "/other", place)
                }
                return
            }
            defer { isDone.store(true, ordering: .relaxed) }
            for _ in 0..<20_000 {
                let isNew = try FileSystem.link(place, path + "/link")
                #expect(isNew)
                unlink(path + "/link")
                links.wrappingAdd(1, ordering: .relaxed)
            }
        }
        #expect(links.load(ordering: .relaxed) == 20_000)
    }

    @Test func `a name that is taken, one that leads nowhere and one in no directory are told apart`() throws {
        let path = directory.path
        Glibc.close(Glibc.open(path + "/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        #expect(try FileSystem.link(path + "/a", path + "/b"))
        #expect(try !FileSystem.link(path + "/a", path + "/b"))
        for (from, to) in [("gone", "c"), ("a", "nowhere/c")] {
            #expect(throws: StorageFault.self) { try FileSystem.link(path + "/" + from, path + "/" + to) }
        }
    }
}

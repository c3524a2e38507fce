import Glibc

/// When each key was written, shared between the process that writes and the one that is told: a file in memory that both
/// map. Key `n` is written once; its time stands at `n`.
///
/// Safety: the mapping has `count` numbers, stays as long as the process, and keys are below `count`.
@safe
struct SendTimes {
    private let times: UnsafeMutablePointer<UInt64>
    let count: Int

    /// Maps the file, made when it is not there.
    init(path: String, count: Int) throws {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchError.system("open \(path)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(count * 8)) == 0 else { throw BenchError.system("ftruncate") }
        let address = unsafe mmap(nil, count * 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else { throw BenchError.system("mmap") }
        unsafe times = unsafe address.bindMemory(to: UInt64.self, capacity: count)
        self.count = count
    }

    @inline(__always)
    subscript(key: Int) -> UInt64 {
        get { unsafe times[key] }
        nonmutating set { unsafe times[key] = newValue }
    }
}

import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Directories beneath which a request may name files by path (law 14); none unless configured.
final class ImportRoots: Sendable {
    private let roots: [DirectoryRoot]
    private let dataDirectory: String?

    /// `roots`: absolute paths of directories.
    /// `dataDirectory`: nothing inside of it is ever opened.
    init(_ roots: [String], dataDirectory: String) throws(Configuration.Refusal) {
        var opened: [DirectoryRoot] = []
        do throws(SystemError) {
            for root in roots {
                var path = root
                while path.count > 1, path.hasSuffix("/") { path.removeLast() }
                opened.append(try DirectoryRoot(path))
            }
            self.dataDirectory = opened.isEmpty ? nil : try DirectoryRoot(dataDirectory).location()
        } catch { throw Configuration.Refusal(description: "importRoots: \(error.description)") }
        self.roots = opened
    }

    /// Opens the file that an absolute path names. May wait for the disk.
    /// - Throws: `pathDenied`; `transferFailed` when it may be opened and cannot be.
    func open(_ path: String, flags: Int32) throws(RPCError) -> PassedDescriptor {
        guard let dataDirectory else {
            throw RPCError(.pathDenied, hint: "no importRoots are configured")
        }
        for root in roots {
            let prefix = root.path == "/" ? "/" : root.path + "/"
            guard path.hasPrefix(prefix), path.utf8.count > prefix.utf8.count else { continue }
            let descriptor: PassedDescriptor
            do throws(SystemError) {
                descriptor = try root.open(String(path.dropFirst(prefix.count)), flags: flags)
            } catch {
                switch error.code {
                case ENOENT: throw RPCError(.transferFailed, hint: "there is no such file")
                case EEXIST: throw RPCError(.transferFailed, hint: "the file is there already")
                case ENOSYS: throw RPCError(.pathDenied, hint: "the kernel has no openat2 (Linux 5.6)")
                default: throw RPCError(.pathDenied)
                }
            }
            guard let location = DirectoryRoot.location(of: descriptor.number), location != dataDirectory,
                !location.hasPrefix(dataDirectory + "/")
            else { throw RPCError(.pathDenied) }
            var information = stat()
            // Nobody waits for the other end of a FIFO.
            // Safety: the kernel fills one `stat`, which is ours.
            guard unsafe fstat(descriptor.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
                throw RPCError(.transferFailed, hint: "it is no regular file")
            }
            return descriptor
        }
        throw RPCError(.pathDenied, hint: "the path is not beneath importRoots")
    }
}

/// The other end of a transfer: a descriptor that the client has passed, or a file beneath `importRoots`.
final class TransferEnd: Sendable {
    private enum Place {
        case passed(PassedDescriptor)
        case path(String, ImportRoots)
        case taken
    }
    private let place: Guarded<Place>

    init(_ descriptor: PassedDescriptor) {
        place = Guarded(.passed(descriptor))
    }

    init(path: String, beneath roots: ImportRoots) {
        place = Guarded(.path(path, roots))
    }

    /// A device that is no place to write to or to read from: a terminal holds a writer up for as long as nobody reads it, and /dev/zero has no end.
    private static func isEndless(_ descriptor: PassedDescriptor) -> Bool {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor.number, &information) == 0, information.st_mode & S_IFMT == S_IFCHR else {
            return false
        }
        // /dev/null and /dev/full, by their numbers on Linux.
        return ![makeDevice(1, 3), makeDevice(1, 7)].contains(information.st_rdev)
    }

    private static func makeDevice(_ major: dev_t, _ minor: dev_t) -> dev_t { major << 8 | minor }

    /// Hands the open descriptor over; once. On the transfer's thread: opening may wait.
    func open(flags: Int32) throws(RPCError) -> PassedDescriptor {
        let place = place.withLock { place in
            defer { place = .taken }
            return place
        }
        switch place {
        case .passed(let descriptor):
            guard !descriptor.isKernels else {
                throw RPCError(.transferFailed, hint: "a file of the kernel's own (proc, sys and the like)")
            }
            guard !Self.isEndless(descriptor) else {
                throw RPCError(.transferFailed, hint: "a terminal or a device: give a file, a pipe or a socket")
            }
            return descriptor
        case .path(let path, let roots): return try roots.open(path, flags: flags)
        case .taken: throw RPCError(.internalError)
        }
    }
}

extension Call {
    /// The transfer's other end, as the parameters `fd` and `path` name it.
    /// - Throws: `invalidParams` when it is not exactly one of them, `descriptorMissing`, `pathDenied`, `overloaded` when too many
    ///   transfers run.
    func end(fd: Int, path: Int) throws(Refusal) -> TransferEnd {
        guard let connection else { throw .error(RPCError(.internalError)) }
        // Taken first, whatever else is wrong: the next request's descriptor is another one.
        let taken = reader.boolean(fd) ? connection.descriptors.take() : .missing
        guard reader.boolean(fd) != reader.has(path) else {
            throw .error(RPCError(.invalidParams, hint: "give one of fd: true and path", parameter: reader.name(fd)))
        }
        let end = try end(taken, fd: fd, path: path)
        try refuseUnlessTransferFree()
        return end
    }

    /// - Throws: `overloaded` when too many transfers run, or there is no memory for another.
    func refuseUnlessTransferFree() throws(Refusal) {
        let held = connection.flatMap { $0.permissions == nil ? nil : $0.client.use.transfers }
        if let refusal = server.transfers.refusal(held: held) { throw .error(refusal) }
        guard !server.buffers.isTight else {
            server.buffers.refused += 1
            throw .error(RPCError(.overloaded, hint: BufferBudget.hint, limit: server.buffers.limit))
        }
    }

    func end(_ taken: DescriptorQueue.Taken, fd: Int, path: Int) throws(Refusal) -> TransferEnd {
        guard reader.boolean(fd) else {
            guard connection?.client.peer?.uid == geteuid(), connection?.permissions == nil else {
                throw .error(RPCError(.pathDenied, hint: "paths are for the daemon's own user in role admin"))
            }
            return TransferEnd(
                path: String(decoding: reader.string(path), as: UTF8.self), beneath: server.transfers.roots)
        }
        return TransferEnd(try passed(taken, fd: fd))
    }

    /// The descriptor that the request has taken.
    func passed(_ taken: DescriptorQueue.Taken, fd: Int) throws(Refusal) -> PassedDescriptor {
        switch taken {
        case .descriptor(let descriptor): return descriptor
        case .missing: throw .error(RPCError(.descriptorMissing, parameter: reader.name(fd)))
        case .lost:
            throw .error(
                RPCError(
                    .descriptorMissing,
                    hint: "which descriptor is meant cannot be told: some were lost, or a request before was refused",
                    parameter: reader.name(fd), limit: DescriptorQueue.limit))
        }
    }

    /// What became of the transfer that this request has waited for in its place.
    func appendOutcome(to out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let outcome = begun?.progress.outcome else { throw .error(RPCError(.internalError)) }
        let rev = outcome.rev ?? storage.rev
        shows(rev)
        switch outcome.answer {
        case .error(let error): throw .error(error)
        case .store(let error):
            guard case .error(var refusal) = Refusal(error, call: self) else {
                throw .error(RPCError(.overloaded))
            }
            refusal.deleted = outcome.deleted
            throw .error(refusal)
        case .result(let text):
            out.append(text)
            out.append(.rev, rev)
            out.closeObject()
        }
    }
}

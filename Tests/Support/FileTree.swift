import Glibc

/// Files and directories as they lie there, by the C library alone: tests look past the code that they judge.
package enum FileTree {
    /// Names in a directory, in order; nil when it is not there.
    package static func names(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // In its place: a copy has 256 bytes, and the record may end sooner.
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file, or a directory with all that is in it.
    package static func remove(_ path: String) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        if information.st_mode & S_IFMT == S_IFDIR {
            for name in names(path) ?? [] { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    package static func write(_ text: String, to path: String) {
        guard let file = fopen(path, "we") else { return }
        // Whatever the umask is: kurad believes no configuration that a group may write.
        fchmod(fileno(file), 0o644)
        fputs(text, file)
        fclose(file)
    }

    package static func contents(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        return rest(of: file)
    }

    /// What a symbolic link says; empty when it is none.
    package static func target(ofLink path: String) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        return String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Everything that is still to be read from a stream.
    static func rest(of stream: UnsafeMutablePointer<FILE>) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&chunk, 1, chunk.count, stream)
            if count <= 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }
}

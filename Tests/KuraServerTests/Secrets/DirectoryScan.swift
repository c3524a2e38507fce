import Glibc
import KuraBytes

/// Looks for bytes in every file of a directory.
enum DirectoryScan {
    /// Which of the texts are in any file.
    static func find(_ texts: [String], under directory: String) -> [String] {
        var found: [String] = []
        files(under: directory) { _, contents in
            found += texts.filter { contains(contents, Array($0.utf8)) }
        }
        return found
    }

    /// The same, with where it is and what is around it.
    static func places(of texts: [String], under directory: String) -> [String] {
        var found: [String] = []
        files(under: directory) { path, contents in
            for text in texts {
                guard let place = place(of: Array(text.utf8), in: contents) else { continue }
                found.append("\(path) at \(place): \(surroundings(of: place, in: contents))")
            }
        }
        return found
    }

    /// What is around a place, as far as it can be read.
    static func surroundings(of place: Int, in contents: Bytes) -> String {
        let around = contents.extracting(max(0, place - 64)..<min(contents.count, place + 64))
        return String(decoding: Array(around).map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
    }

    /// Where pieces of `wanted` are: 24 bytes of it at every 48th place, so that no remains of it are overlooked.
    /// - Returns: names of files, with the offset of the piece.
    static func find(piecesOf wanted: [[UInt8]], under directory: String) -> [String] {
        var found: [String] = []
        files(under: directory) { path, contents in
            for bytes in wanted {
                for start in stride(from: 0, through: bytes.count - 24, by: 48)
                where contains(contents, Array(bytes[start..<start + 24])) {
                    found.append("\(path): \(start) of \(bytes.count)")
                }
            }
        }
        return found
    }

    private static func files(under directory: String, _ body: (String, Bytes) -> Void) {
        for name in TemporaryDaemon.names(directory) ?? [] {
            let path = directory + "/" + name
            var information = stat()
            guard lstat(path, &information) == 0 else { continue }
            if information.st_mode & S_IFMT == S_IFDIR {
                files(under: path, body)
            } else if let contents = TemporaryDaemon.contents(path) {
                contents.withBytes { body(path, $0) }
            }
        }
    }

    static func contains(_ contents: Bytes, _ text: [UInt8]) -> Bool { place(of: text, in: contents) != nil }

    private typealias Search =
        @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeRawPointer?
    /// glibc's memmem, which its Swift module leaves out.
    private static let memmem = unsafeBitCast(dlsym(nil, "memmem"), to: Search.self)

    static func place(of text: [UInt8], in contents: Bytes) -> Int? {
        guard let start = contents.baseAddress, let found = memmem(start, contents.count, text, text.count) else {
            return nil
        }
        return found - start
    }
}

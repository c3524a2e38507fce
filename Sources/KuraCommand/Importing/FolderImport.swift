import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; `readdir`'s entry is ours until the next call, its name ends with a zero and is
// copied at once; the kernel fills one `stat`, which is ours.

/// A folder's files into one namespace of blobs, each under its path within the folder, by descriptor.
struct FolderImport {
    static let store = Method.Store.blobs
    private let job: ImportJob
    private let target: ImportCommand.Target

    init(_ job: ImportJob, _ target: ImportCommand.Target) {
        self.job = job
        self.target = target
    }

    func run() throws(Failure) -> ImportReport {
        var report = ImportReport(job, target, unit: "files")
        var files: [String] = []
        try walk("", &files, &report)
        let method = try job.catalogue.method(named: "blobs.put")
        let progress = job.progress()
        defer { progress.erase() }
        guard !job.isDry else {
            report.stored = files.count
            return report
        }
        var session = try Session.open(job.options, job.console)
        for (index, name) in files.enumerated() {
            progress.update(done: Int64(index), total: Int64(files.count), phase: name)
            try store(name, method, &session, progress, &report)
        }
        return report
    }

    private func store(
        _ name: String, _ method: Method, _ session: inout Session, _ progress: ProgressLine,
        _ report: inout ImportReport
    ) throws(Failure) {
        // Not through a link that has taken the file's place, and not waiting for the other end of a pipe.
        let descriptor = unsafe open("\(job.path)/\(name)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            report.leave(out: name, Failure.file("cannot open it").message)
            return
        }
        defer { close(descriptor) }
        var params = [
            ("namespace", JSONParts.string(target.name)), ("key", JSONParts.string(name)), ("fd", Array("true".utf8)),
        ]
        if let type = Self.contentType(name) { params.append(("contentType", JSONParts.string(type))) }
        do throws(Failure) {
            let result = JSONObject(
                try session.insistentResult(
                    method, JSONParts.object(params), passing: descriptor, progress: progress, job.options,
                    remedy: "the same command again stores nothing twice"))
            if result?.boolean("stored") == true {
                report.stored += 1
            } else {
                report.leave(out: name, "the cache declined it: \(result?.string("reason") ?? "no reason given")")
            }
        } catch {
            // What is this file's own fault does not end the rest.
            let kind = error.reply.flatMap { JSONObject($0)?.object("data")?.string("kind") }
            guard let kind, ["valueTooLarge", "invalidParams", "transferFailed"].contains(kind) else {
                var failure = error
                failure.message += "; \(report.stored) files are stored, \(name) is not"
                throw failure
            }
            report.leave(out: name, error.message)
        }
    }

    /// Regular files below the folder, in the order of their names; links are not followed.
    private func walk(_ inside: String, _ files: inout [String], _ report: inout ImportReport) throws(Failure) {
        let path = inside.isEmpty ? job.path : "\(job.path)/\(inside)"
        guard let directory = unsafe opendir(path) else {
            guard !inside.isEmpty else { throw Failure.file("cannot open \(path)") }
            report.leave(out: inside, Failure.file("cannot open it").message)
            return
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            guard let name else {
                report.leave(out: inside.isEmpty ? "a file" : "a file in \(inside)", "its name is not UTF-8")
                continue
            }
            if name != ".", name != ".." { names.append(name) }
        }
        for name in names.sorted() {
            let name = inside.isEmpty ? name : "\(inside)/\(name)"
            var information = stat()
            guard unsafe lstat("\(job.path)/\(name)", &information) == 0 else {
                report.leave(out: name, Failure.file("cannot look at it").message)
                continue
            }
            switch information.st_mode & S_IFMT {
            case S_IFDIR: try walk(name, &files, &report)
            case S_IFREG:
                if name.utf8.count > WireLimits.keyBytes {
                    report.leave(out: name, "its path is longer than \(WireLimits.keyBytes) bytes")
                } else {
                    files.append(name)
                }
            case S_IFLNK: report.leave(out: name, "a symbolic link")
            default: report.leave(out: name, "no regular file")
            }
        }
    }

    /// By the name's suffix; nil for those that nobody has to know.
    static func contentType(_ name: String) -> String? {
        guard let dot = name.lastIndex(of: "."), !name[dot...].contains("/") else { return nil }
        return switch name[name.index(after: dot)...].lowercased() {
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "avif": "image/avif"
        case "heic": "image/heic"
        case "svg": "image/svg+xml"
        case "ico": "image/vnd.microsoft.icon"
        case "pdf": "application/pdf"
        case "json": "application/json"
        case "html", "htm": "text/html"
        case "txt": "text/plain"
        case "css": "text/css"
        case "csv": "text/csv"
        case "xml": "application/xml"
        case "zip": "application/zip"
        case "mp3": "audio/mpeg"
        case "wav": "audio/wav"
        case "mp4": "video/mp4"
        case "webm": "video/webm"
        default: nil
        }
    }
}

import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: `pread` gets a buffer with its length.

/// `documents.import` from a file, begun again when the daemon goes in its midst.
///
/// Records are stored in their order, batch by batch. What the last `progress` told is on the disk; what came behind it may be there as well, and
/// is stored once more. That leads to the same when each record says which document it is; others would get another new id. So those are
/// not stored again: the failure tells where to look. Where bad records are passed over it begins at the beginning, since only the daemon
/// that reads them names them; what is there as it is to be is not written again.
struct RestartableImport {
    let method: Method
    /// What is read; the daemon moves its place, which it has in common with ours.
    let descriptor: Int32
    let options: GlobalOptions
    let console: Console

    /// - Parameters:
    ///   - session: another one afterwards, when the daemon has gone.
    ///   - parameters: of the request.
    ///   - progress: drawn meanwhile; erased by the caller.
    ///   - remedy: what to do when it is not begun again; the offset is what is stored for certain.
    /// - Returns: the result; `imported` counts what was stored before an interruption, too.
    /// - Throws: the daemon's refusal, or why it is not begun again.
    func run(
        _ session: inout Session, _ parameters: Parameters, _ progress: ProgressLine, remedy: (Int64) -> String
    ) throws(Failure) -> [UInt8] {
        let begin = lseek(descriptor, 0, SEEK_CUR)
        let first = parameters["offset"].flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
        var asked = parameters
        var before: Int64 = 0
        var offset = first
        var interruptions = 0
        while true {
            do throws(Failure) {
                let result = try session.result(method, asked.json, passing: descriptor, progress: progress)
                return before > 0 ? Self.adding(before, to: result) : result
            } catch {
                progress.erase()
                guard error.isInterruption else {
                    let failure = interruptions > 0 ? resumed(error, at: offset) : error
                    throw stopped(failure, before + (progress.imported ?? 0), from: begin, first: first, remedy)
                }
                // What this attempt has told; another one's figures are below its own beginning.
                if let done = progress.done, let imported = progress.imported, done > offset {
                    before += imported
                    offset = done
                }
                progress.forget()
                interruptions += 1
                var failure = error
                guard begin >= 0 else {
                    failure.hint = "what came through a pipe cannot be read again: \(pipeRemedy(parameters))"
                    throw failure
                }
                guard isRepeatable(from: begin + off_t(offset), of: begin, parameters) else {
                    failure.message += "; what lies before byte \(offset) is stored, what lies behind it may be"
                    failure.hint =
                        "records without an id would be stored a second time: look what is there, then \(remedy(offset))"
                    throw failure
                }
                let isExact = parameters["onError"] != JSONParts.string("skip")
                if !isExact { (offset, before) = (first, 0) }
                guard interruptions <= Session.interruptionLimit else {
                    failure.hint = remedy(offset)
                    throw failure
                }
                do throws(Failure) {
                    session = try Session.awaited(options, console, seconds: options.patience) {
                        (session) throws(Failure) in
                        _ = try session.result(Self.ping)
                    }
                } catch {
                    failure.hint = remedy(offset)
                    throw failure
                }
                console.remark(
                    offset > first ? "going on at byte \(offset), with \(before) stored" : "beginning again")
                lseek(descriptor, begin, SEEK_SET)
                if offset > first { asked["offset"] = Array(String(offset).utf8) }
                // Only at its beginning an array shows that it is one.
                if offset > first, asked["format"] == nil, let format = format(at: begin) {
                    asked["format"] = JSONParts.string(format)
                }
            }
        }
    }

    private static let ping = Method.all.first { $0.name == "storage.ping" }!

    /// Lines are counted from where reading began.
    private func resumed(_ error: Failure, at offset: Int64) -> Failure {
        var failure = error
        if offset > 0 { failure.message += "; line 1 is the one at byte \(offset), where it went on" }
        return failure
    }

    /// A record that is not stored ends the import: what stands before it is stored, and stays.
    private func stopped(
        _ error: Failure, _ told: Int64, from begin: off_t, first: Int64, _ remedy: (Int64) -> String
    ) -> Failure {
        var failure = error
        guard let data = error.reply.flatMap({ JSONObject($0)?.object("data") }), data.string("kind") == "badRecord",
            let offset = data.integer("offset")
        else {
            // Such as a full disk: what was told before is the least.
            if told > 0 { failure.message += "; at least \(told) are stored" }
            return failure
        }
        if let why = data.string("hint") { failure.message += ": \(Self.inOptions(why))" }
        let count = begin >= 0 ? records(from: begin + off_t(first), to: begin + off_t(offset)) : nil
        failure.message += count.map { "; the \($0) before it are stored" } ?? "; what stands before it is stored"
        failure.hint =
            "--on-error skip leaves such records out and names them; when this one is put right, "
            + (begin >= 0 ? remedy(offset) : "leave out what is stored")
        return failure
    }

    /// The protocol's members as options.
    static func inOptions(_ reason: String) -> String {
        reason == "no member of idField's name" ? "it has no member of the name that --id gives" : reason
    }

    /// Records in that part of the file; nil where they are not lines, or where the file has been cut off since.
    private func records(from begin: off_t, to end: off_t) -> Int? {
        guard format(at: begin) != "array" else { return nil }
        var reader = LineReader(descriptor, from: begin)
        var count = 0
        var place = begin
        while place < end, let line = reader.next() {
            place += off_t(line.count) + 1
            if !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { count += 1 }
        }
        return place >= end ? count : nil
    }

    private func pipeRemedy(_ parameters: Parameters) -> String {
        parameters["idField"] != nil
            ? "the same again stores nothing twice" : "records with an id may come again, others would be stored twice"
    }

    private static func adding(_ count: Int64, to result: [UInt8]) -> [UInt8] {
        guard let object = JSONObject(result) else { return result }
        return JSONParts.object(
            object.entries.map { name, value in
                guard name == "imported", let more = object.integer(name) else { return (name, value) }
                return (name, Array(String(count + more).utf8))
            })
    }

    // MARK: Looking at the file

    /// Whether all records from there on say which documents they are, so that storing one twice changes nothing.
    private func isRepeatable(from place: off_t, of begin: off_t, _ parameters: Parameters) -> Bool {
        if parameters["idField"] != nil { return true }
        let takesAttachments = parameters["attachments"] == Array("true".utf8)
        let format = parameters["format"].flatMap(JSONObject.string) ?? format(at: begin)
        guard format != "array" else { return false }
        var reader = LineReader(descriptor, from: place)
        while let line = reader.next() {
            if line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { continue }
            guard let names = JSONObject(line)?.names else { return false }
            let wanted: Set<String> = takesAttachments ? ["id", "value", "attachments"] : ["id", "value"]
            guard names.contains("id"), names.contains("value"), wanted.isSuperset(of: names) else { return false }
        }
        return true
    }

    /// By the first byte that is no white space; nil when there is none.
    private func format(at place: off_t) -> String? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        var place = place
        while true {
            let count = unsafe pread(descriptor, &chunk, chunk.count, place)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            if let first = chunk[..<count].first(where: { ![0x20, 0x09, 0x0D, 0x0A].contains($0) }) {
                return first == UInt8(ascii: "[") ? "array" : "lines"
            }
            place += off_t(count)
        }
    }

    /// A file's lines, without its place being moved.
    private struct LineReader {
        let descriptor: Int32
        private var place: off_t
        private var buffer: [UInt8] = []
        private var start = 0
        /// No line ends before it, from `start` on.
        private var sought = 0
        private var isAtEnd = false

        init(_ descriptor: Int32, from place: off_t) {
            self.descriptor = descriptor
            self.place = place
        }

        mutating func next() -> [UInt8]? {
            while true {
                if let end = buffer.withBytes({ $0.firstIndex(of: 0x0A, from: sought) }) {
                    defer { (start, sought) = (end + 1, end + 1) }
                    return Array(buffer[start..<end])
                }
                guard !isAtEnd else {
                    defer { start = buffer.count }
                    return start < buffer.count ? Array(buffer[start...]) : nil
                }
                fill()
            }
        }

        private mutating func fill() {
            buffer.removeFirst(start)
            (start, sought) = (0, buffer.count)
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            let count = unsafe pread(descriptor, &chunk, chunk.count, place)
            if count < 0, errno == EINTR { return }
            isAtEnd = count <= 0
            guard count > 0 else { return }
            buffer += chunk[..<count]
            place += off_t(count)
        }
    }
}

import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: Swift lends the path as a C string for the call.

/// Documents into one collection, through `documents.import`: the daemon reads the records from a descriptor and leaves bad ones out.
struct DocumentsImport {
    static let store = Method.Store.documents
    private let job: ImportJob
    private let target: ImportCommand.Target

    init(_ job: ImportJob, _ target: ImportCommand.Target) {
        self.job = job
        self.target = target
    }

    // MARK: NDJSON and arrays

    func run(_ source: ImportSource) throws(Failure) -> ImportReport {
        var report = ImportReport(job, target, unit: "documents")
        let format = source.kind == .json ? "array" : "lines"
        if job.id == nil, source.kind == .ndjson, source.firstRecordHasUnusedID {
            // Nobody asked for it to be one, and the same again would store everything twice.
            report.notes.append("each document gets a new id; --id id takes the member 'id' that they have")
        }
        if job.isDry {
            try examine(try source.bytes(), isArray: source.kind == .json, &report)
            return report
        }
        if source.path == "-" {
            let file = try NamelessFile(job.console)
            try file.append(try source.bytes())
            file.rewind()
            try store(file.descriptor, format, idField: job.id, &report) { "line \($0)" }
        } else {
            let descriptor = unsafe open(source.path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Failure.file("cannot open \(source.path)") }
            defer { close(descriptor) }
            try store(descriptor, format, idField: job.id, &report) { "line \($0)" }
        }
        return report
    }

    /// What the daemon would say of each record, as far as that can be known without it.
    private func examine(_ text: [UInt8], isArray: Bool, _ report: inout ImportReport) throws(Failure) {
        if isArray {
            do throws(JSONFault) { try JSONDocument.check(text, grammar: .wire) } catch {
                throw .usage("\(job.path) is not JSON: \(error.explanation)")
            }
            for (index, record) in (JSONElements.read(text) ?? []).enumerated() {
                examine(record, "record \(index + 1)", &report)
            }
            return
        }
        for (index, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { ![0x20, 0x09, 0x0D].contains($0) }) else { continue }
            do throws(JSONFault) {
                try JSONDocument.check(Array(line), grammar: .wire)
                examine(Array(line), "line \(index + 1)", &report)
            } catch {
                report.leave(out: "line \(index + 1)", "not JSON: \(error.explanation)")
            }
        }
    }

    private func examine(_ record: [UInt8], _ place: String, _ report: inout ImportReport) {
        if record.count > WireLimits.documentBytes {
            return report.leave(
                out: place, "\(record.count) bytes, and a document has \(WireLimits.documentBytes) at most")
        }
        guard let field = job.id else {
            report.stored += 1
            return
        }
        let first = JSONObject(record)?[field]?.first
        let isID = first == UInt8(ascii: "\"") || first.map { $0 == 0x2D || (0x30...0x39).contains($0) } ?? false
        if isID { report.stored += 1 } else { report.leave(out: place, "'\(field)' is no text and no number") }
    }

    // MARK: A table

    func run(_ database: TableReader) throws(Failure) -> ImportReport {
        var report = ImportReport(job, target, unit: "documents")
        let file = try NamelessFile(job.console)
        let progress = job.progress()
        defer { progress.erase() }
        // Lines of the file by the rows that they came from: what was left out before has none.
        var skipped: [Int] = []
        var row = 0
        let total = try database.count()
        var buffer: [UInt8] = []
        var base64 = 0
        try database.read { (record) throws(Failure) in
            row += 1
            switch record {
            case .document(let id, let value, let blobs):
                base64 += blobs
                if job.isDry {
                    report.stored += 1
                } else {
                    buffer += JSONParts.object([("id", JSONParts.string(id)), ("value", value)]) + [0x0A]
                    if buffer.count >= 1 << 20 {
                        try file.append(buffer)
                        buffer = []
                    }
                }
            case .unusable(let reason):
                skipped.append(row)
                report.leave(out: "row \(row)", reason)
            }
            if row % 256 == 0 { progress.update(done: Int64(row), total: total, phase: "reading") }
        }
        if !database.generated.isEmpty {
            report.notes.append("generated columns are not taken: \(database.generated.joined(separator: ", "))")
        }
        if base64 > 0 { report.notes.append("\(base64) blobs became base64") }
        guard !job.isDry else { return report }
        try file.append(buffer)
        file.rewind()
        try store(file.descriptor, "lines", idField: nil, &report, progress) { line in
            var row = line
            for place in skipped where place <= row { row += 1 }
            return "row \(row)"
        }
        return report
    }

    private func store(
        _ descriptor: Int32, _ format: String, idField: String?, _ report: inout ImportReport,
        _ given: ProgressLine? = nil, _ place: (Int) -> String
    ) throws(Failure) {
        var params = Parameters()
        params["collection"] = JSONParts.string(target.name)
        params["fd"] = Array("true".utf8)
        params["format"] = JSONParts.string(format)
        params["onError"] = JSONParts.string("skip")
        params["idField"] = idField.map { JSONParts.string($0) }
        var session = try Session.open(job.options, job.console)
        let progress = given ?? job.progress()
        defer { progress.erase() }
        let result = JSONObject(
            try RestartableImport(
                method: try job.catalogue.method(named: "documents.import"), descriptor: descriptor,
                options: job.options, console: job.console
            ).run(&session, params, progress) { _ in "the same command again stores nothing twice" })
        guard let result, let imported = result.integer("imported"), let bad = result.integer("skipped") else {
            throw Failure(status: .noDaemon, message: "the answer does not count what was imported")
        }
        report.stored = Int(imported)
        let known = report.leftOut
        for error in result["errors"].flatMap(JSONElements.read) ?? [] {
            guard let error = JSONObject(error) else { continue }
            report.leave(
                out: place(Int(error.integer("line") ?? 0)), RestartableImport.inOptions(error.string("message") ?? ""))
        }
        // It names the first of them only.
        report.leftOut = max(report.leftOut, known + Int(bad))
    }
}

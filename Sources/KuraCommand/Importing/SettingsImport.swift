import KuraBytes
import KuraClient
import KuraProtocol

/// Names and values into one domain of settings: all or nothing, as long as they are no more than one request takes.
struct SettingsImport {
    static let store = Method.Store.settings
    private let job: ImportJob
    private let target: ImportCommand.Target
    /// What one `settings.import` takes, and what a line of that stays well below.
    private static let perRequest = 10_000
    private static let bytesPerRequest = 8 << 20

    init(_ job: ImportJob, _ target: ImportCommand.Target) {
        self.job = job
        self.target = target
    }

    /// A dictionary's entries; what is no dictionary has no names.
    func run(_ list: PropertyList) throws(Failure) -> ImportReport {
        guard case .dictionary(let entries) = list else {
            throw .usage("\(job.path) has no names: its outermost value is no dictionary")
        }
        var report = ImportReport(job, target, unit: "settings")
        var taken: [(name: String, value: [UInt8])] = []
        for entry in entries {
            var reason = ""
            guard let json = entry.value.json(reason: &reason) else {
                report.leave(out: entry.key, reason)
                continue
            }
            take(entry.key, json, &taken, &report)
        }
        return try store(taken, report)
    }

    /// A JSON object's members.
    func run(object text: [UInt8]) throws(Failure) -> ImportReport {
        let compact: [UInt8]
        do throws(JSONFault) { compact = try JSONDocument.compact(text) } catch {
            throw .usage("\(job.path) is not JSON: \(error.explanation)")
        }
        guard let object = JSONObject(compact) else { throw .usage("\(job.path) is no JSON object") }
        var report = ImportReport(job, target, unit: "settings")
        var taken: [(name: String, value: [UInt8])] = []
        for (name, value) in object.entries { take(name, value, &taken, &report) }
        return try store(taken, report)
    }

    /// What the daemon would refuse takes nothing else with it.
    private func take(
        _ name: String, _ value: [UInt8], _ taken: inout [(name: String, value: [UInt8])], _ report: inout ImportReport
    ) {
        let isName =
            (1...WireLimits.keyBytes).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        if !isName {
            report.leave(out: name, "no key: 1 to \(WireLimits.keyBytes) bytes without control characters")
        } else if value.count > WireLimits.settingsValueBytes {
            report.leave(out: name, "\(value.count) bytes, and a setting has \(WireLimits.settingsValueBytes) at most")
        } else {
            taken.append((name, value))
        }
    }

    /// Whether the daemon keeps the result, which has the names of what was changed, under a request key: 1 MiB at most. What is
    /// larger is stored a second time when nobody knows whether it was, which is as if it had come later.
    static func isKept(_ names: [String]) -> Bool {
        names.reduce(0) { $0 + $1.utf8.count + 16 } <= 256 << 10
    }

    private func store(
        _ entries: [(name: String, value: [UInt8])], _ given: ImportReport
    ) throws(Failure) -> ImportReport {
        var report = given
        let method = try job.catalogue.method(named: "settings.import")
        var session = try Session.open(job.options, job.console)
        let progress = job.progress()
        defer { progress.erase() }
        var rest = entries[...]
        while !rest.isEmpty {
            var bytes = 0
            let piece = rest.prefix(Self.perRequest).prefix { entry in
                bytes += entry.name.utf8.count + entry.value.count + 16
                return bytes <= Self.bytesPerRequest + WireLimits.settingsValueBytes
            }
            var params: [(name: String, value: [UInt8])] = [
                ("values", JSONParts.object([(target.name, JSONParts.object(Array(piece)))]))
            ]
            if job.isDry { params.append(("dryRun", Array("true".utf8))) }
            let result: [UInt8]
            do throws(Failure) {
                result = try session.insistentResult(
                    method, JSONParts.object(params), isOnce: !job.isDry && Self.isKept(piece.map(\.name)),
                    progress: progress, job.options, remedy: "the same command again stores nothing twice")
            } catch {
                var failure = error
                if report.stored > 0 { failure.message += "; the first \(report.stored) are stored" }
                throw failure
            }
            let object = JSONObject(result)
            let changed = (object?.integer("added") ?? 0) + (object?.integer("changed") ?? 0)
            report.unchanged += piece.count - Int(changed)
            report.stored += piece.count
            rest = rest.dropFirst(piece.count)
            progress.update(done: Int64(report.stored), total: Int64(entries.count))
        }
        return report
    }
}

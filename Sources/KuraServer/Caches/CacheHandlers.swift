import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what concerns all caches: `storage.stats`, `storage.sweep`.
enum CacheHandlers {
    static let all: [String: Handler] = ["storage.stats": stats, "storage.sweep": sweep]

    static func sweep(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let done = call.takeAnswer()?.query as? SweepDone else {
            guard storage.models.isLoaded else { throw .query(ticket: storage.awaitModels()) }
            throw .query(ticket: storage.sweepCaches())
        }
        append(done.sweep, to: &out)
    }

    private static func append(_ sweep: CacheSweep, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        object.boolean("running", sweep.isRunning, &out)
        object.number("done", sweep.done, &out)
        object.number("total", sweep.total, &out)
        object.number("removed", sweep.removed, &out)
        object.number("bytes", sweep.bytes, &out)
        out.append("}")
    }

    static func stats(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        var object = ObjectWriter(&out)
        var sizes: [(range: String, count: Int)] = []
        object.name("databases", &out)
        out.append("[")
        for (position, file) in storage.caches.sizes.sorted(by: { $0.bytes < $1.bytes }).enumerated() {
            let range = range(file.bytes)
            if sizes.last?.range == range { sizes[sizes.count - 1].count += 1 } else { sizes.append((range, 1)) }
            if position > 0 { out.append(",") }
            var inner = ObjectWriter(&out)
            inner.text("name", file.name, &out)
            inner.text("range", range, &out)
            out.append("}")
        }
        out.append("]")
        object.numbers("sizes", sizes.map { ($0.range, $0.count) }, &out)
        if let free = call.server.freeMemoryAtStart { object.text("freeMemoryRange", range(free), &out) }
        object.number("openErrors", storage.caches.openErrors, &out)
        object.name("models", &out)
        out.append("[")
        var isFirst = true
        for namespace in storage.models.all where call.shows(.list, .models, scope: namespace.name) {
            if !isFirst { out.append(",") }
            isFirst = false
            var inner = ObjectWriter(&out)
            inner.text("namespace", String(decoding: namespace.name, as: UTF8.self), &out)
            ModelsHandlers.append(numbersOf: namespace, to: &inner, &out)
            out.append("}")
        }
        out.append("]")
        object.name("blobs", &out)
        BlobsNamespaces.append(numbersFor: call, &out, storage)
        if call.showsDaemon {
            let (models, blobs) = (storage.models.totals, storage.blobs.totals)
            object.numbers(
                "totals",
                [
                    ("models", models.entries), ("modelBytes", models.bytes), ("blobs", blobs.blobs),
                    ("blobContents", blobs.contents), ("blobBytes", blobs.bytes),
                ], &out)
            object.name("daemon", &out)
            ObservationHandlers.append(
                daemonOf: call, full: call.has(StorageStats.histograms) && call[StorageStats.histograms], to: &out,
                storage)
        }
        object.name("sweep", &out)
        append(storage.caches.sweep, to: &out)
        object.number("purgedBytes", storage.caches.purgedBytes, &out)
        append(
            launches: storage.launchReports.filter { call.showsDaemon || call.isClient($0.client) }, to: &object, &out)
        out.append("}")
    }

    private static func append(launches: [LaunchReport], to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        object.name("launches", &out)
        out.append("[")
        for (position, launch) in launches.enumerated() {
            if position > 0 { out.append(",") }
            var inner = ObjectWriter(&out)
            inner.text("client", String(decoding: launch.client, as: UTF8.self), &out)
            inner.name("at", &out)
            out.append(timestamp: launch.at)
            inner.number("count", launch.count, &out)
            inner.number("swept", launch.swept, &out)
            inner.number("sweptBytes", launch.sweptBytes, &out)
            inner.boolean("compacted", launch.isCompacted, &out)
            inner.number("freedBytes", launch.freed, &out)
            out.append("}")
        }
        out.append("]")
    }

    /// A size as a range that tells nobody apart: `0-1 MB`, `1-2 MB`, then each twice as wide.
    private static func range(_ bytes: Int) -> String {
        var upper = 1
        while upper << 20 < bytes { upper *= 2 }
        return upper == 1 ? "0-1 MB" : "\(upper / 2)-\(upper) MB"
    }
}

import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what concerns all caches: `storage.stats`, `storage.sweep`.
extension StorageHandlers {
    static func sweep(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard storage.models.isLoaded else { throw .waits(.answer(storage.awaitModels())) }
        try call.mustBeInOrder()
        throw call.wait(for: storage.sweepCaches(), hasEffect: true) { (_, done: SweepDone, _, out, _) in
            append(done.sweep, to: &out)
        }
    }

    private static func append(_ sweep: CacheSweep, to out: inout ByteBuffer) {
        out.openObject()
        out.append(.running, sweep.isRunning)
        out.append(.done, sweep.done)
        out.append(.total, sweep.total)
        out.append(.removed, sweep.removed)
        out.append(.bytes, sweep.bytes)
        out.closeObject()
    }

    static func stats(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.openObject()
        var sizes: [(range: String, count: Int)] = []
        out.openList(.databases)
        for file in storage.caches.sizes.sorted(by: { $0.bytes < $1.bytes }) {
            let range = range(file.bytes)
            if sizes.last?.range == range { sizes[sizes.count - 1].count += 1 } else { sizes.append((range, 1)) }
            out.openObject()
            out.append(.name, file.name)
            out.append(.range, range)
            out.closeObject()
        }
        out.closeList()
        out.openObject(.sizes)
        for size in sizes { out.append(key: size.range, size.count) }
        out.closeObject()
        if let free = call.server.description.freeMemoryAtStart { out.append(.freeMemoryRange, range(free)) }
        out.append(.openErrors, storage.caches.openErrors)
        out.openList(.models)
        for namespace in storage.models.all where call.shows(.list, .models, scope: namespace.name) {
            out.openObject()
            out.append(.namespace, namespace.name)
            ModelsHandlers.append(numbersOf: namespace, to: &out)
            out.closeObject()
        }
        out.closeList()
        BlobsHandlers.append(numbersFor: call, &out, storage)
        if call.showsDaemon {
            let models = storage.models.totals
            let blobs = storage.blobs.totals
            out.openObject(.totals)
            out.append(.models, models.entries)
            out.append(.modelBytes, models.bytes)
            out.append(.blobs, blobs.blobs)
            out.append(.blobContents, blobs.contents)
            out.append(.blobBytes, blobs.bytes)
            out.closeObject()
            StorageHandlers.append(daemonOf: call, full: call[StorageStats.histograms], to: &out, storage)
        }
        out.append(name: .sweep)
        append(storage.caches.sweep, to: &out)
        out.append(.purgedBytes, storage.caches.purgedBytes)
        append(launches: storage.launchReports.filter { call.showsDaemon || call.isClient($0.client) }, to: &out)
        out.closeObject()
    }

    private static func append(launches: [LaunchReport], to out: inout ByteBuffer) {
        out.openList(.launches)
        for launch in launches {
            out.openObject()
            out.append(.client, launch.client)
            out.append(.at, launch.at)
            out.append(.count, launch.count)
            out.append(.swept, launch.swept)
            out.append(.sweptBytes, launch.sweptBytes)
            out.append(.compacted, launch.isCompacted)
            out.append(.freedBytes, launch.freed)
            out.closeObject()
        }
        out.closeList()
    }

    /// A size as a range that tells nobody apart: `0-1 MB`, `1-2 MB`, then each twice as wide.
    private static func range(_ bytes: Int) -> String {
        var upper = 1
        while upper << 20 < bytes { upper *= 2 }
        return upper == 1 ? "0-1 MB" : "\(upper / 2)-\(upper) MB"
    }
}

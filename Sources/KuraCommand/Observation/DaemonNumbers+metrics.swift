import KuraClient
import KuraProtocol

extension DaemonNumbers {
    /// What is told when there is no daemon to ask.
    static var metricsOfNobody: String {
        var text = MetricsText()
        text.single("kura_up", .gauge, "Whether the daemon answers.", 0)
        return text.text
    }

    /// Everything as Prometheus reads it. No names of scopes, no clients, no users: only the daemon's own words are labels.
    var metrics: String {
        var text = MetricsText()
        text.single("kura_up", .gauge, "Whether the daemon answers.", 1)
        text.family("kura_info", .gauge, "The daemon's version and profile.")
        text.sample(
            "kura_info",
            [("version", status.string("version") ?? ""), ("profile", status.string("profile") ?? "")], 1)
        text.family("kura_uptime_seconds", .gauge, "Since the daemon began to serve.")
        text.sample(
            "kura_uptime_seconds", [], MetricsText.decimal(daemon.integer("uptimeMilliseconds") ?? 0, digits: 3))
        appendRequests(to: &text)
        appendWriting(to: &text)
        appendStores(to: &text)
        appendConnections(to: &text)
        appendTroubles(to: &text)
        return text.text
    }

    private func appendRequests(to text: inout MetricsText) {
        text.family(
            "kura_request_duration_seconds", .histogram,
            "From when a request's last bytes were read to when its reply had left, by method.")
        for entry in requests where entry.latency.count > 0 {
            text.times("kura_request_duration_seconds", [("method", entry.method)], entry.latency)
        }
        text.family("kura_requests_refused_total", .counter, "Requests that were answered with an error, by method.")
        for entry in requests { text.sample("kura_requests_refused_total", [("method", entry.method)], entry.refused) }
        text.family("kura_errors_total", .counter, "Errors by kind, of lines that name no method too.")
        for (kind, count) in Self.numbers(daemon.object("refusals")) {
            text.sample("kura_errors_total", [("kind", kind)], count)
        }
        text.single(
            "kura_slow_requests_total", .counter, "Requests that took longer than slowMilliseconds.",
            daemon.object("slow")?.integer("count") ?? 0)
        text.family("kura_waiting", .gauge, "Connections that wait, by what for; long transfers under way.")
        for (name, count) in Self.numbers(daemon.object("queues")) {
            text.sample("kura_waiting", [("for", name)], count)
        }
    }

    private func appendWriting(to text: inout MetricsText) {
        text.family("kura_commit_changes", .histogram, "Changes of a commit to the log.")
        text.sizes("kura_commit_changes", measured("commits", "changes"))
        text.family("kura_sync_duration_seconds", .histogram, "What a sync of the log took.")
        text.times("kura_sync_duration_seconds", [], measured("syncs", "time"))
        text.family("kura_sync_revisions", .histogram, "Revisions that a sync made durable.")
        text.sizes("kura_sync_revisions", measured("syncs", "revisions"))
        text.family("kura_fold_duration_seconds", .histogram, "What it took to write a slice to the tables.")
        text.times("kura_fold_duration_seconds", [], measured("folds", "time"))
        text.family("kura_fold_changes", .histogram, "Changes of such a slice.")
        text.sizes("kura_fold_changes", measured("folds", "changes"))
        text.family("kura_checkpoint_duration_seconds", .histogram, "What a checkpoint of the tables took.")
        text.times("kura_checkpoint_duration_seconds", [], measured("checkpoints", "time"))
        for (name, help, value) in [
            ("kura_wal_bytes", "Bytes of the tables' WAL that are not checkpointed.", daemon.integer("walBytes") ?? 0),
            ("kura_log_bytes", "Bytes of the log's segments.", status("log", "bytes")),
            ("kura_log_segments", "Segments of the log.", status("log", "segments")),
            ("kura_overlay_bytes", "Bytes of changes that are not folded.", status("overlay", "bytes")),
            ("kura_overlay_items", "Changes that are not folded.", status("overlay", "items")),
            ("kura_revision", "The newest revision.", status.integer("rev") ?? 0),
            ("kura_folded_revision", "The revision that the tables are as of.", status.integer("foldedRev") ?? 0),
        ] { text.single(name, .gauge, help, value) }
        text.single(
            "kura_noop_writes_total", .counter, "Writes that changed nothing.", status("log", "noOpWrites"))
        for (name, help, member) in [
            ("kura_disk_written_bytes_total", "Bytes given to the disk, by group of files.", "bytesWritten"),
            ("kura_disk_writes_total", "Writes given to the system, by group of files.", "writes"),
            ("kura_disk_syncs_total", "Syncs, by group of files.", "syncs"),
        ] {
            text.family(name, .counter, help)
            let disk = status.object("disk")
            for group in disk?.names ?? [] {
                text.sample(name, [("files", group)], disk?.object(group)?.integer(member) ?? 0)
            }
        }
    }

    private func appendStores(to text: inout MetricsText) {
        let (clear, caches) = (Method.Store.all(.clear).words, Method.Store.caches.words)
        text.family("kura_items", .gauge, "Items by store.")
        for store in clear + caches {
            text.sample("kura_items", [("store", store)], status(store, "count"))
        }
        text.family("kura_item_bytes", .gauge, "Their bytes.")
        for store in clear + caches {
            text.sample("kura_item_bytes", [("store", store)], status(store, "bytes"))
        }
        text.family(
            "kura_document_lookups_total", .counter, "Documents looked up by their ids, by where they were found.")
        text.sample(
            "kura_document_lookups_total", [("in", "memory")], daemon.object("documents")?.integer("hits") ?? 0)
        text.sample(
            "kura_document_lookups_total", [("in", "tables")], daemon.object("documents")?.integer("misses") ?? 0)
        // No counter: what a namespace has counted goes with it.
        text.family(
            "kura_cache_lookups", .gauge, "Look-ups of the namespaces that there are, by store and what was found.")
        for store in caches {
            let found = lookups(store)
            for (result, count) in [("hit", found.hits), ("stale", found.stale), ("miss", found.misses)] {
                text.sample("kura_cache_lookups", [("store", store), ("result", result)], count)
            }
        }
        text.single(
            "kura_cache_purged_bytes_total", .counter, "Bytes that caches have given up for want of space.",
            stats.integer("purgedBytes") ?? 0)
        text.single("kura_free_bytes", .gauge, "Bytes free on the file system.", status("space", "free"))
        text.single(
            "kura_space_low", .gauge, "Whether there is so little that caches store nothing.",
            status.object("space")?.boolean("low") == true ? 1 : 0)
    }

    private func appendConnections(to text: inout MetricsText) {
        text.single("kura_connections", .gauge, "Open connections.", status("connections", "open"))
        text.single(
            "kura_connections_accepted_total", .counter, "Connections that were let in.",
            status("connections", "accepted"))
        text.single(
            "kura_connections_refused_total", .counter, "Connections that there was no room for.",
            status("buffers", "turnedAway"))
        text.single(
            "kura_subscriptions", .gauge, "Subscriptions and live queries.", status("connections", "subscriptions"))
        text.single("kura_buffer_bytes", .gauge, "Memory of all connections' buffers.", status("buffers", "bytes"))
        text.single("kura_buffer_limit_bytes", .gauge, "Its bound.", status("buffers", "limit"))
        text.single(
            "kura_overloaded_total", .counter, "Requests that were refused for want of memory for buffers.",
            status("buffers", "overloaded"))
        text.single(
            "kura_recoveries_unacknowledged", .gauge,
            "Recoveries that nobody has acknowledged: see storage.status and kura doctor.",
            Int64(recoveries.count))
    }

    /// Damage, checks and snapshots. What nobody knows yet has no sample.
    private func appendTroubles(to text: inout MetricsText) {
        text.family("kura_damage_total", .counter, "Times that damage was met, by kind.")
        let damage = (status["damage"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
        for kind in ["damaged", "unreadable"] {
            let met = damage.filter { $0.string("kind") == kind }
            let count = met.reduce(Int64(0)) { $0.plus($1.integer("count") ?? 0) }
            text.sample("kura_damage_total", [("kind", kind)], count)
        }
        func time(_ member: String, _ name: String) -> Int64? {
            status.object(member)?.string(name).flatMap { StatusSummary.seconds($0) }
        }
        if let at = time("check", "at") {
            text.single(
                "kura_check_problems", .gauge, "Problems that the last look through everything has found.",
                self.status("check", "problems"))
            text.single(
                "kura_check_last_timestamp_seconds", .gauge, "When that ended, in seconds since 1970.", at)
        }
        guard status.object("backups") != nil else { return }
        text.single(
            "kura_backup_interval_seconds", .gauge, "Seconds between two snapshots: backups.every.",
            self.status("backups", "everySeconds"))
        text.single(
            "kura_backup_failures_total", .counter, "Snapshots that were not made.", self.status("backups", "failures"))
        if let newest = time("backups", "newestAt") {
            text.single(
                "kura_backup_last_success_timestamp_seconds", .gauge,
                "When the newest snapshot was made, in seconds since 1970.", newest)
        }
    }

    /// What `recovered` of the status tells.
    var recoveries: [JSONObject] {
        (status["recovered"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
    }
}

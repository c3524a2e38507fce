/// Answers of a daemon to `storage.status` and `storage.stats`, for what is made of them.
enum ObservedDaemon {
    /// `requests` and `slower`: put requests, and how many of them took about a millisecond.
    static func status(startedAt: String = "2026-11-22T08:00:00.000Z", requests: Int = 1000) -> String {
        """
        {"version":"0.1.0","epoch":"e","startedAt":"\(startedAt)","profile":"small","rev":7,"foldedRev":5,"pid":12,
        "settings":{"domains":1,"count":2,"bytes":30},"documents":{"collections":1,"count":40,"bytes":5000},
        "models":{"namespaces":1,"count":3,"bytes":4},"blobs":{"count":5,"bytes":6},
        "space":{"free":1073741824,"total":2147483648,"low":false},"log":{"segments":2,"bytes":2097152,"noOpWrites":1},
        "overlay":{"items":2,"bytes":2048,"limit":4194304},"cache":{"items":9,"bytes":1048576,"limit":4194304},
        "connections":{"open":3,"accepted":9,"requests":\(requests),"subscriptions":1},
        "buffers":{"bytes":4096,"limit":8192,"turnedAway":0,"overloaded":0},
        "disk":{"log":{"writes":3,"bytesWritten":\(requests * 100),"syncs":4},"cache":{"writes":1,"bytesWritten":0,"syncs":0}},
        "quotas":{},"limits":{"connections":100}}
        """.replacing("\n", with: "")
    }

    static func stats(uptime: Int = 10_000, puts: Int = 900, slower: Int = 9, conflicts: Int = 5, hits: Int = 80)
        -> String
    {
        let fast = puts - slower
        let latency = """
            {"count":\(puts),"sumMicroseconds":\(fast * 90 + slower * 1000),"maxNanoseconds":1100000,"p50Nanoseconds":98304,
            "p90Nanoseconds":98304,"p99Nanoseconds":1114112,"p999Nanoseconds":1114112,
            "buckets":{"98304":\(fast),"1114112":\(slower)}}
            """
        let times = """
            {"count":\(puts / 10),"sumMicroseconds":\(puts * 8),"maxNanoseconds":81920,"p50Nanoseconds":81920,"p90Nanoseconds":81920,
            "p99Nanoseconds":81920,"p999Nanoseconds":81920,"buckets":{"81920":\(puts / 10)}}
            """
        let sizes = """
            {"count":\(puts / 10),"sum":\(puts),"max":10,"p50":10,"p90":10,"p99":10,"p999":10,"buckets":{"10":\(puts / 10)}}
            """
        let nothing = """
            {"count":0,"sumMicroseconds":0,"maxNanoseconds":0,"p50Nanoseconds":0,"p90Nanoseconds":0,"p99Nanoseconds":0,
            "p999Nanoseconds":0,"buckets":{}}
            """
        return """
            {"databases":[],"sizes":{},"openErrors":0,"models":[{"namespace":"private-feed","hits":6,"stale":1,"misses":3}],
            "blobs":[{"namespace":"private-pictures","hits":1,"misses":1}],"daemon":{"uptimeMilliseconds":\(uptime),
            "requests":[{"method":"settings.put","refused":\(conflicts),"latency":\(latency)}],"refusals":{"conflict":\(conflicts)},
            "commits":{"changes":\(sizes)},"syncs":{"time":\(times),"revisions":\(sizes)},
            "folds":{"time":\(nothing),"changes":{"count":0,"sum":0,"max":0,"p50":0,"p90":0,"p99":0,"p999":0,"buckets":{}}},
            "checkpoints":{"time":\(nothing)},"walBytes":3145728,"queues":{"sync":2,"room":0,"transfers":1},
            "documents":{"hits":\(hits),"misses":20},"slow":{"thresholdMilliseconds":1000,"count":2}},
            "sweep":{},"purgedBytes":0}
            """.replacing("\n", with: "")
    }
}

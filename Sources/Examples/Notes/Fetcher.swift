import Foundation
import KuraClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Keeps what a server has in the model cache. However many fetchers run, the server is asked once: who finds the cached value stale
/// wins, and the others get what the winner brings.
struct Fetcher {
    /// The server asks to be left alone; the cache tells every process.
    struct Busy: RetryLater {
        var retryAfter: Duration
    }

    struct Refused: Error {
        var status: Int
    }

    private let kura: Kura
    private let address: URL
    private let interval: Duration

    init(_ kura: Kura, _ address: URL, every interval: Duration) {
        self.kura = kura
        self.address = address
        self.interval = interval
    }

    func run() async throws {
        while true {
            do {
                // What is cached comes first, and the fresh value behind it when somebody has to fetch.
                for try await headlines in headlines() where headlines.isFresh {
                    say("\(headlines.value.headlines.count) headlines")
                }
            } catch let error as Refused {
                say("the server says \(error.status)")
            } catch is URLError {
                say("the server is not there")
            } catch is Busy {
                say("the server is busy")
            }
            try await Task.sleep(for: interval)
        }
    }

    /// Fresh for an interval, shown for a day after that.
    private func headlines() -> FetchedValues<Headlines> {
        kura.models["headlines"].value(
            for: "today", as: Headlines.self, lifetime: ModelCache.Lifetime(fresh: interval, stale: .seconds(86_400)),
            orRefresh: { known in try await fetch(known?.etag) })
    }

    private func fetch(_ etag: String?) async throws -> Refreshed<Headlines> {
        var request = URLRequest(url: address, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 20)
        // Asked for each time: who changes the secret need not start anybody anew.
        if let token = try await token() { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let etag { request.setValue(etag, forHTTPHeaderField: "If-None-Match") }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let answer = response as? HTTPURLResponse else { throw Refused(status: 0) }
        switch answer.statusCode {
        case 200:
            return .value(
                try JSONDecoder().decode(Headlines.self, from: data), etag: answer.value(forHTTPHeaderField: "ETag"))
        case 304: return .notModified
        case 429, 503:
            throw Busy(retryAfter: .seconds(Int(answer.value(forHTTPHeaderField: "Retry-After") ?? "") ?? 30))
        default: throw Refused(status: answer.statusCode)
        }
    }

    private func token() async throws(KuraError) -> String? {
        try await kura.secrets["headlines"].get("token")?.secret.text
    }
}

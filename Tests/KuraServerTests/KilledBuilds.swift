import Glibc

extension TemporaryDaemon {
    /// Has it die at each of these points in turn, while a client puts the JSON that `value` makes into the collection `c`.
    func die(atEachOf faults: [String], writing value: (_ round: Int, _ number: Int) -> String) throws {
        for (round, fault) in faults.enumerated() {
            kill()
            try launch(faults: fault)
            // It may end at any time.
            var writer: Client?
            for _ in 0..<6000 where writer == nil && isRunning {
                usleep(10_000)
                writer = try? connect()
            }
            for number in 0..<30 {
                let id = "d\(round * 97 + number)"
                writer?.send(
                    Client.request(
                        "documents.put",
                        "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value(round, number))}"))
            }
            _ = wait(seconds: 2)
        }
        kill()
    }
}

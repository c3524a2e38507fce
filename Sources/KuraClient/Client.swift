import KuraBytes
import KuraProtocol

/// Calls methods of a daemon, one after the other, and waits for each reply.
///
/// For scripts, tests and the command line. It blocks the calling thread and belongs to one at a time.
///
///     var client = try Client.connect(to: SocketPath.standard(SocketPath.environment))
///     let reply = try client.call("settings.get", params: Array(#"{"domain":"app","key":"theme"}"#.utf8))
public struct Client: ~Copyable {
    private var connection: LineConnection
    private var lastID: Int64 = 0

    /// Connects to the daemon that listens under `path`; nothing is sent.
    /// - Parameters:
    ///   - path: a Unix socket's, at most 100 bytes.
    ///   - peerUIDs: the users of whom one has to listen there; nil: as `$KURA_PEER_UID` says. Where neither names them the usual place is
    ///     checked (its directory, and that this user or root listens), and another path is not.
    ///   - timeoutMilliseconds: longest time until it is connected, and until a call is answered or tells that it gets on; nil waits for ever.
    ///   - environment: where variables are looked up; nil: this process's own.
    ///   - whileWaiting: called now and then while a daemon that listens takes no connection.
    /// - Returns: a client whose first request is the connection's first.
    /// - Throws: `noDaemon`, `notAllowed` (also when somebody else listens), `badPath`, `timedOut`.
    public static func connect(
        to path: String, peerUIDs: [UInt32]? = nil, timeoutMilliseconds: Int32? = nil,
        environment: ((String) -> String?)? = nil, whileWaiting: (() -> Void)? = nil
    ) throws(ClientError) -> Client {
        Client(
            connection: try LineConnection.open(
                path: path,
                check: try PeerCheck(path: path, named: peerUIDs, environment: environment ?? SocketPath.environment),
                timeoutMilliseconds: timeoutMilliseconds, tick: whileWaiting))
    }

    /// The users that a text names as `$KURA_PEER_UID` does: numbers with commas between them.
    /// - Returns: nil when it is something else.
    public static func users(_ text: String) -> [UInt32]? { PeerCheck.users(text) }

    private init(connection: consuming LineConnection) {
        self.connection = connection
    }

    /// Sends one request and waits for its reply.
    /// - Parameters:
    ///   - method: a method's name, as `rpc.discover` lists them.
    ///   - params: JSON text of an object or array; white space between its tokens is taken out. Empty: no parameters.
    ///   - descriptor: goes along with the request (SCM_RIGHTS), for a method that takes `fd: true`; it stays open here.
    ///   - onNotice: called with each notification that comes before the reply.
    ///   - whileWaiting: called about ten times a second while nothing comes.
    /// - Returns: the result, or the daemon's refusal: both are answers.
    /// - Throws: `badParameters` when `params` is no such text (nothing was sent); `connectionLost`, `timedOut` or `badReply`
    ///   when there is no answer, and the connection cannot be used again.
    public mutating func call(
        _ method: String, params: [UInt8] = [], passing descriptor: Int32? = nil,
        onNotice: (Notice) -> Void = { _ in }, whileWaiting: (() -> Void)? = nil
    ) throws(ClientError) -> Reply {
        lastID += 1
        let line = try Self.request(id: lastID, method: method, params: params)
        do throws(ClientError) {
            try connection.send(line: line, passing: descriptor)
        } catch {
            // A daemon that refuses a connection says why before it closes it: the reply is looked for all the same.
            guard error.code == .connectionLost else { throw error }
        }
        connection.beginAnswer()
        var done: Int64 = 0
        while true {
            let line = try connection.readLine(tick: whileWaiting)
            guard let notice = Notice(line: line) else { return try Reply(line: line, id: lastID) }
            // Progress of this request begins its time anew. No other line does.
            if let step = notice.progress(of: lastID), step > done {
                done = step
                connection.beginAnswer()
            }
            onNotice(notice)
        }
    }

    /// Sends one request and waits for its reply, which `rpc.cancel` brings about when somebody has had enough.
    /// - Parameters:
    ///   - method: one whose request `rpc.cancel` ends.
    ///   - params: as of `call`.
    ///   - descriptor: goes along.
    ///   - hasEnough: asked about ten times a second.
    /// - Returns: the result, or the daemon's refusal.
    /// - Throws: as `call`.
    package mutating func call(
        _ method: String, params: [UInt8], passing descriptor: Int32, until hasEnough: () -> Bool
    ) throws(ClientError) -> Reply {
        lastID += 1
        let id = lastID
        try connection.send(line: try Self.request(id: id, method: method, params: params), passing: descriptor)
        while true {
            do throws(ClientError) {
                let line = try connection.readLine(isTimed: false, within: 100)
                guard let object = JSONObject(line), object["method"] == nil,
                    object.integer("id") != lastID || id == lastID
                else { continue }
                return try Reply(line: line, id: id)
            } catch {
                guard error.code == .timedOut else { throw error }
                guard id == lastID, hasEnough() else { continue }
                lastID += 1
                let params = Array("{\"id\":\(id)}".utf8)
                try connection.send(line: try Self.request(id: lastID, method: "rpc.cancel", params: params))
            }
        }
    }

    /// Nothing is sent or awaited for longer than this from now on, however much comes meanwhile; then it is `timedOut`.
    package mutating func end(within milliseconds: Int32) { connection.end(within: milliseconds) }

    /// The oldest descriptor that has come with a reply and was not taken yet (`documents.attachment` with `as: "fd"`); nil when none has.
    /// The caller closes it, and holds what it reads against the reply's `digest`: the daemon has not read it.
    public mutating func takeDescriptor() -> Int32? { connection.takeDescriptor() }

    /// Waits for the next notification of a subscription.
    /// - Parameter milliseconds: how long; -1: as long as it takes.
    /// - Returns: the notification.
    /// - Throws: `connectionLost`, `timedOut`, or `badReply` when a line comes that is no notification.
    public mutating func nextNotice(within milliseconds: Int32 = -1) throws(ClientError) -> Notice {
        let line = try connection.readLine(isTimed: false, within: milliseconds)
        guard let notice = Notice(line: line) else {
            throw ClientError(.badReply, "a line came that is no notification, and nothing was asked")
        }
        return notice
    }

    /// The request's line.
    static func request(id: Int64, method: String, params: [UInt8]) throws(ClientError) -> [UInt8] {
        var line = ByteBuffer(capacity: params.count + 128)
        line.append("{\"jsonrpc\":\"2.0\",\"id\":")
        line.append(integer: id)
        line.append(",\"method\":")
        line.append(quoted: method)
        if !params.isEmpty {
            let compact: [UInt8]
            do throws(JSONFault) {
                compact = try JSONDocument.compact(params)
            } catch {
                throw ClientError(.badParameters, "the parameters are not JSON: \(error.explanation)")
            }
            guard compact.first == UInt8(ascii: "{") || compact.first == UInt8(ascii: "[") else {
                throw ClientError(.badParameters, "the parameters are no JSON object or array")
            }
            line.append(",\"params\":")
            compact.withBytes { line.append($0) }
        }
        line.append("}")
        return Array(line.bytes)
    }
}

public import KuraSocket

/// Why a call got no reply. Two are equal when their codes are.
public struct ClientError: Error, Equatable, CustomStringConvertible, Sendable {
    public enum Code: Sendable {
        /// Nobody listens under the path: no socket file, or one that a dead daemon left.
        case noDaemon
        /// The socket is there and this user may not use it, or somebody else listens there than is expected.
        case notAllowed
        /// The path cannot be a socket's: too long, or another kind of file.
        case badPath
        /// The daemon went before its reply was there. Whether it did what was asked is not known.
        case connectionLost
        /// No reply within the time allowed. Whether the daemon did what was asked is not known.
        case timedOut
        /// What came back is no reply to the request, or a line without an end: the other side is not a Kura daemon.
        case badReply
        /// The parameters are no JSON object or array; nothing was sent.
        case badParameters
    }

    public let code: Code
    /// One line for people.
    public let message: String
    /// What to do about it; nil when there is nothing to say.
    public let hint: String?
    /// The system call that failed, when one did.
    public let cause: SystemError?

    init(_ code: Code, _ message: String, hint: String? = nil, cause: SystemError? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.cause = cause
    }

    public var description: String { message }

    public static func == (left: ClientError, right: ClientError) -> Bool { left.code == right.code }
}

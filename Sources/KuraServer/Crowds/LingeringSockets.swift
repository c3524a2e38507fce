import KuraBytes
import KuraSocket
import KuraTransport

/// Clients that have been refused and may not know yet.
///
/// A socket that is closed while its client still writes fails the client's write, and most clients then never read the line that
/// says why. So ours is shut down for sending only, what still comes is read and thrown away, and it is closed when the client has
/// closed, has had its time, or has sent too much; sooner when many come. As web servers do ("lingering close").
struct LingeringSockets {
    private final class Lingerer {
        let socket: Socket
        let until: UInt64
        var left = LingeringSockets.bytes

        init(_ socket: consuming Socket, until: UInt64) {
            self.socket = socket
            self.until = until
        }
    }
    /// In the order of their ends.
    private var all: ContiguousArray<Lingerer> = []

    /// At once; the oldest goes when there is one more.
    static let limit = 64
    static let time: UInt64 = 2_000_000_000
    /// Bytes that are thrown away for one.
    private static let bytes = 1 << 20

    var isEmpty: Bool { all.isEmpty }

    /// Takes a socket over whose client has been told; there is nothing more to send.
    mutating func take(_ socket: consuming Socket, at time: UInt64, _ loop: EventLoop, token: UInt64) {
        socket.shutdownSending()
        if all.count >= Self.limit { remove(at: 0, loop) }
        let lingerer = Lingerer(socket, until: time + Self.time)
        do throws(SystemError) { try loop.add(lingerer.socket.descriptor, token: token, .read) } catch { return }
        all.append(lingerer)
    }

    /// Reads what has come, and lets those go that have ended.
    /// `scratch`: room that nobody else uses meanwhile.
    mutating func drain(at time: UInt64, _ scratch: inout ByteBuffer, _ loop: EventLoop) {
        var position = 0
        while position < all.count {
            let lingerer = all[position]
            var isOver = time >= lingerer.until
            scratch.removeAll()
            switch lingerer.socket.receive(into: &scratch) {
            case .bytes(let count):
                lingerer.left -= count
                isOver = isOver || lingerer.left <= 0
            case .nothing: break
            case .end, .failed: isOver = true
            }
            if isOver { remove(at: position, loop) } else { position += 1 }
        }
        scratch.removeAll()
    }

    /// Lets all of them go.
    /// - Returns: whether there were any.
    mutating func removeAll(_ loop: EventLoop) -> Bool {
        guard !all.isEmpty else { return false }
        while !all.isEmpty { remove(at: all.count - 1, loop) }
        return true
    }

    func timeToNext(at time: UInt64) -> UInt64? {
        guard let first = all.first else { return nil }
        return first.until > time ? first.until - time : 0
    }

    private mutating func remove(at position: Int, _ loop: EventLoop) {
        loop.remove(all[position].socket.descriptor)
        all.remove(at: position)
    }
}

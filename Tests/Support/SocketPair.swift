import Glibc

/// A pair of connected stream sockets.
package final class Pair {
    package let left: Int32
    package let right: Int32

    package init() {
        var ends: [Int32] = [0, 0]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        precondition(result == 0, "socketpair: \(errno)")
        (left, right) = (ends[0], ends[1])
    }

    deinit {
        close(left)
        close(right)
    }
}

/// sendmsg(2): bytes whose first carries descriptors (SCM_RIGHTS). Tells how many bytes went; below zero, `errno` says why none did.
package func send(_ bytes: [UInt8], descriptors: [Int32], to socket: Int32) -> Int {
    var bytes = bytes
    // cmsghdr is a length, a level and a type; the descriptors follow, and the whole ends at eight bytes.
    let size = 16 + descriptors.count * 4
    var control = [UInt64](repeating: 0, count: (size + 7) / 8)
    return control.withUnsafeMutableBytes { control in
        control.storeBytes(of: size, as: Int.self)
        control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
        control.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
        for (index, descriptor) in descriptors.enumerated() {
            control.storeBytes(of: descriptor, toByteOffset: 16 + index * 4, as: Int32.self)
        }
        return bytes.withUnsafeMutableBytes { bytes in
            var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &part) { part in
                var message = msghdr()
                message.msg_iov = part
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
            }
        }
    }
}

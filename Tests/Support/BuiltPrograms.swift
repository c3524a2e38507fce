import Glibc

/// The programs of the build, which lie beside the test bundle.
package enum BuiltPrograms {
    package static let directory: String = {
        let path = FileTree.target(ofLink: "/proc/self/exe")
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }()

    package static let kurad = directory + "/kurad"
    package static let peer = directory + "/kura-peer"
}

import Glibc

/// The programs of the build, which lie beside the test bundle.
package enum BuiltPrograms {
    package static let directory: String = {
        let path = FileTree.target(ofLink: "/proc/self/exe")
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }()

    /// `$KURAD` is another daemon: the one that is shipped.
    package static let kurad = environment("KURAD") ?? directory + "/kurad"
    package static let isGiven = environment("KURAD") != nil
    package static let peer = directory + "/kura-peer"

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

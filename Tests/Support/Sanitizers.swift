import Glibc

/// What a program that is started with an environment of its own needs of ours, when it is built with a sanitizer.
package enum Sanitizers {
    /// Seconds that anything takes at most: a minute, and ten of them under a sanitizer.
    package static let patience = environment.isEmpty ? 60 : 600

    package static var environment: [String] {
        let names = ["ASAN_OPTIONS", "TSAN_OPTIONS"]
        return names.compactMap { (name: String) in getenv(name).map { "\(name)=\(String(cString: $0))" } }
    }
}

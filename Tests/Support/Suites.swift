import Glibc

/// The public test suites: `$KURA_SUITES`, else `../shared/suites` beside the checkout.
package enum Suites {
    package static let directory: String = {
        if let path = getenv("KURA_SUITES") { return String(cString: path) }
        let checkout = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
            separator: "/")
        return "\(checkout)/../shared/suites"
    }()

    /// Whether a file or a folder of them is there.
    package static func has(_ name: String) -> Bool { access("\(directory)/\(name)", R_OK) == 0 }

    /// Names of the files in `folder`, in order.
    package static func files(in folder: String) -> [String] {
        (FileTree.names("\(directory)/\(folder)") ?? []).filter { !$0.hasPrefix(".") }
    }

    package static func contents(of file: String) -> [UInt8]? { FileTree.contents("\(directory)/\(file)") }
}

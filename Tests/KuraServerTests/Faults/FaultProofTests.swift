import Glibc
import Testing

/// A little of what `scripts/prove faults full` does at length: a scripted run over all stores whose file calls fail, and power cuts.
@Suite struct FaultProofTests {
    private static let isRoot = geteuid() == 0
    private static func has(_ programs: String...) -> Bool {
        programs.allSatisfy { program in
            ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"].contains { directory in
                access(directory + "/" + program, X_OK) == 0
            }
        }
    }
    private static let hasCompiler = has("cc")
    /// Whether a file system in a file can be mounted here: containers mostly may not.
    private static let hasLoops: Bool = {
        guard isRoot, has("losetup", "mkfs.ext4") else { return false }
        let tried =
            "d=$(mktemp -d) && truncate -s 16M $d/i && mkfs.ext4 -q -F $d/i && mkdir $d/m && mount -o loop $d/i $d/m && umount $d/m"
            + " && rm -r $d"
        return (try? Outsider.run(tried))?.status == 0
    }()

    private func prove(_ section: String, _ variables: String) throws {
        let script = #filePath.split(separator: "/Tests/")[0] + "/scripts/prove"
        let outcome = try Outsider.run("\(variables) KURAD=\(TemporaryDaemon.binary) \(script) faults quick \(section)")
        #expect(outcome.status == 0 && outcome.output.contains(", 0 failed"), "\(outcome.output.suffix(4000))")
    }

    @Test(
        .enabled(if: isRoot && hasCompiler && has("python3"), "needs root, a C compiler and python3"),
        arguments: ["eio sync names", "full fullon readonly", "kill tear emfile"])
    func `a file call that fails, or is the last one, costs nothing that was acknowledged`(series: String) throws {
        try prove("calls", "RUNS=2 SERIES='\(series)'")
    }

    @Test(.enabled(if: hasLoops, "needs root, loop devices and mkfs.ext4"))
    func `a power cut costs nothing that was acknowledged, in any store`() throws {
        try prove("cuts", "KINDS=ext4 CUTS=2 CONTROLS=0")
    }
}

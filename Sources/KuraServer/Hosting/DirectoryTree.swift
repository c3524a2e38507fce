import Glibc

/// Temporary directories, with everything in them.
///
/// Safety: Swift lends the path as a C string for the call; an entry of a directory is read before the next one is asked for, and its
/// name ends with a zero.
public enum DirectoryTree {
    /// Removes a directory and what is in it, as far as that is possible; links are removed and not followed.
    public static func remove(_ path: String) {
        guard let directory = unsafe opendir(path) else { return }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        }
        unsafe closedir(directory)
        unsafe rmdir(path)
    }
}

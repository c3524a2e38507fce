import CSyscalls

/// What the program was called with.
///
/// On Linux `CommandLine` looks for it through /proc/self/maps and finds nothing where that cannot be opened, for want of descriptors or memory: a
/// daemon would then begin with its defaults, in another directory. The loader tells it as well, without a file.
///
/// Safety: the loader's vector ends with nil and stays as long as the program; nothing is written there.
@safe
package enum ProgramArguments {
    /// As they came, the program's name first and nil last. They stay as long as the program.
    package static var vector: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        // Safety: as of the type.
        unsafe csys_arguments() ?? CommandLine.unsafeArgv
    }

    /// Without the program's name. What is not UTF-8 is mended.
    package static var words: [String] {
        var words: [String] = []
        // Safety: nil ends them, and none is looked at behind it.
        while let word = unsafe vector[words.count + 1] { words.append(unsafe String(cString: word)) }
        return words
    }
}

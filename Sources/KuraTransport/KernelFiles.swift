import CSyscalls
public import KuraSocket

extension PassedDescriptor {
    /// It is of a file system in which the kernel shows itself (proc, sysfs, cgroup and the like). Some of their files ask who
    /// writes, not who has opened them: that would be us. May wait.
    public var isKernels: Bool { Self.kernels.contains(csys_file_system_of(number)) }

    /// Source: statfs(2), linux/magic.h: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, selinux, smack, bpf, configfs,
    /// efivarfs, pstore, binfmt_misc.
    private static let kernels: Set<Int> = [
        0x9FA0, 0x6265_6572, 0x27_E0EB, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xF97C_FF8C, 0x4341_5D53,
        0xCAFE_4A11, 0x6265_6570, 0xDE5E_81E4, 0x6165_676C, 0x4249_4E4D,
    ]
}

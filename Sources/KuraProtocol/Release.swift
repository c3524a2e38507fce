/// Which Kura this is: the daemon and the command line are built together and tell the same number.
public enum Release {
    /// As in semver.org; clients/python/pyproject.toml and its `__version__` have it too.
    public static let version = "0.1.0"
}

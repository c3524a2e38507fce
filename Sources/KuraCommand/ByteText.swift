/// Numbers of bytes for people.
enum ByteText {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

    /// In the largest binary unit that leaves at least one, with one digit behind the point.
    static func size(_ bytes: Int64) -> String {
        var unit = 0
        var scale: Int64 = 1
        while unit + 1 < units.count, bytes.magnitude / 1024 >= scale.magnitude {
            scale *= 1024
            unit += 1
        }
        if unit == 0 { return "\(bytes) B" }
        let (whole, rest) = bytes.magnitude.quotientAndRemainder(dividingBy: scale.magnitude)
        return "\(bytes < 0 ? "-" : "")\(whole).\(rest * 10 / scale.magnitude) \(units[unit])"
    }
}

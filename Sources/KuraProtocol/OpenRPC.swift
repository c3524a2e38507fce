public enum OpenRPC {
    public static func document(_ table: MethodTable = .standard, version: String) -> [UInt8] { Array("{}".utf8) }
}

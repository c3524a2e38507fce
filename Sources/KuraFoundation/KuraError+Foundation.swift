public import Foundation
public import KuraClient

/// `localizedDescription` says what is wrong and what to do, as `description` does.
extension KuraError: LocalizedError {
    public var errorDescription: String? { description }
    public var failureReason: String? { message }
    public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}

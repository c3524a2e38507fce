/// Members of `storage.status`, `session.hello` and the programs that the method table does not name one by one.
extension FlagMember {
    static var full: Self { Self(",\"full\":") }
    static var needsRootKey: Self { Self(",\"needsRootKey\":") }
}

extension NumberMember {
    static var accepted: Self { Self(",\"accepted\":") }
    static var attachments: Self { Self(",\"attachments\":") }
    static var backups: Self { Self(",\"backups\":") }
    static var batchItems: Self { Self(",\"batchItems\":") }
    static var blobs: Self { Self(",\"blobs\":") }
    static var bufferBytes: Self { Self(",\"bufferBytes\":") }
    static var bytesLimit: Self { Self(",\"bytesLimit\":") }
    static var bytesWritten: Self { Self(",\"bytesWritten\":") }
    static var closed: Self { Self(",\"closed\":") }
    static var commits: Self { Self(",\"commits\":") }
    static var contents: Self { Self(",\"contents\":") }
    static var deferred: Self { Self(",\"deferred\":") }
    static var depth: Self { Self(",\"depth\":") }
    static var descriptors: Self { Self(",\"descriptors\":") }
    static var descriptorsLost: Self { Self(",\"descriptorsLost\":") }
    static var documentBytes: Self { Self(",\"documentBytes\":") }
    static var durableRev: Self { Self(",\"durableRev\":") }
    static var free: Self { Self(",\"free\":") }
    static var inputBytes: Self { Self(",\"inputBytes\":") }
    static var items: Self { Self(",\"items\":") }
    static var itemsLimit: Self { Self(",\"itemsLimit\":") }
    static var keyBytes: Self { Self(",\"keyBytes\":") }
    static var launches: Self { Self(",\"launches\":") }
    static var limit: Self { Self(",\"limit\":") }
    static var lineBytes: Self { Self(",\"lineBytes\":") }
    static var memoryLimit: Self { Self(",\"memoryLimit\":") }
    static var minFree: Self { Self(",\"minFree\":") }
    static var models: Self { Self(",\"models\":") }
    static var more: Self { Self(",\"more\":") }
    static var namespaces: Self { Self(",\"namespaces\":") }
    static var open: Self { Self(",\"open\":") }
    static var outputBytes: Self { Self(",\"outputBytes\":") }
    static var overloaded: Self { Self(",\"overloaded\":") }
    static var page: Self { Self(",\"page\":") }
    static var passedDescriptors: Self { Self(",\"passedDescriptors\":") }
    static var pauses: Self { Self(",\"pauses\":") }
    static var peakBytes: Self { Self(",\"peakBytes\":") }
    static var quarantine: Self { Self(",\"quarantine\":") }
    static var query: Self { Self(",\"query\":") }
    static var replyBytes: Self { Self(",\"replyBytes\":") }
    static var requestsPerTurn: Self { Self(",\"requestsPerTurn\":") }
    static var reserve: Self { Self(",\"reserve\":") }
    static var room: Self { Self(",\"room\":") }
    static var scopeBytes: Self { Self(",\"scopeBytes\":") }
    static var scopes: Self { Self(",\"scopes\":") }
    static var scopesLimit: Self { Self(",\"scopesLimit\":") }
    static var segments: Self { Self(",\"segments\":") }
    static var settingBytes: Self { Self(",\"settingBytes\":") }
    static var settingsBytes: Self { Self(",\"settingsBytes\":") }
    static var stalled: Self { Self(",\"stalled\":") }
    static var stallSeconds: Self { Self(",\"stallSeconds\":") }
    static var starved: Self { Self(",\"starved\":") }
    static var subscriptions: Self { Self(",\"subscriptions\":") }
    static var sync: Self { Self(",\"sync\":") }
    static var tablesWal: Self { Self(",\"tablesWal\":") }
    static var timesLow: Self { Self(",\"timesLow\":") }
    static var totalSubscriptions: Self { Self(",\"totalSubscriptions\":") }
    static var transfers: Self { Self(",\"transfers\":") }
    static var turnedAway: Self { Self(",\"turnedAway\":") }
    static var unwritten: Self { Self(",\"unwritten\":") }
    static var upkeep: Self { Self(",\"upkeep\":") }
    static var uploads: Self { Self(",\"uploads\":") }
}

extension ObjectMember {
    static var durable: Self { Self(",\"durable\":") }
    static var kinds: Self { Self(",\"kinds\":") }
    static var other: Self { Self(",\"other\":") }
    static var usage: Self { Self(",\"usage\":") }
}

extension TextMember {
    static var advice: Self { Self(",\"advice\":") }
    static var backupEpoch: Self { Self(",\"backupEpoch\":") }
    static var check: Self { Self(",\"check\":") }
    static var severity: Self { Self(",\"severity\":") }
}

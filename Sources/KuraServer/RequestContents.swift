import KuraStorage

/// The contents of attachments, and jobs with keys, that a request has waited for: it is begun again with each that comes, and finds them here
/// in the order in which its operations ask for them. Belongs to the loop.
///
/// Those of requests that the turn has answered stay until its end: a turn that is taken back answers them again.
struct RequestContents {
    private var contents: [any TableQuery] = []
    /// How many are those of requests that the turn has answered.
    private var answered = 0
    /// How many the request has asked for.
    private var asked = 0
    private var isAhead = false
    /// What the request waits for, and would be done twice if it were asked for twice.
    private var job: KeyJob?

    var isEmpty: Bool { contents.isEmpty }

    /// A request is begun. `isAhead`: another one waits, whose contents these are.
    mutating func begin(isAhead: Bool) {
        asked = 0
        self.isAhead = isAhead
    }

    /// The next content of the request, when it has been there before.
    mutating func next() -> (any TableQuery)? {
        guard !isAhead, answered + asked < contents.count else { return nil }
        defer { asked += 1 }
        return contents[answered + asked]
    }

    /// The request asks for one more, which has just come.
    mutating func append(_ content: any TableQuery) {
        contents.append(content)
        asked += 1
    }

    /// What was asked for last is not what is wanted any more.
    mutating func discardLast() {
        asked -= 1
        contents.remove(at: answered + asked)
    }

    /// What comes is this request's own.
    var takesAnswers: Bool { !isAhead }

    /// The request waits for a job, which has been begun.
    mutating func wait(for job: KeyJob) { self.job = job }

    /// The job that the request has begun in an earlier round, done or not.
    mutating func takeJob() -> KeyJob? {
        guard !isAhead, let job else { return nil }
        if job.isDone { self.job = nil }
        return job
    }

    /// The request is answered.
    mutating func end() {
        guard !isAhead else { return }
        answered = contents.count
        if job != nil { job = nil }
    }

    mutating func rewind() { answered = 0 }

    mutating func commit() {
        contents.removeFirst(answered)
        answered = 0
    }
}

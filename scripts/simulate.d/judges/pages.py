"""Lists in pages: what the revision of each page is, and when a cursor ends."""

from judges.base import Judge
from values import whole

LISTS = {"settings.list", "settings.export", "documents.list", "documents.find", "documents.distinct", "documents.search"}


class Pages(Judge):
    name = "pages"
    sentence = ("exactly: each page of a list has the revision of its first page; a cursor of a collection ends with it, though another "
                "one gets its name")

    def __init__(self, run):
        super().__init__(run)
        self.cursors = {}         # by its text: the revision of its page, and the tick at which it was given
        self.drops = {}           # by collection: the ticks at which its last drop was asked for and answered

    def stopped(self, was_clean):
        # What was relaxed may be gone.
        if self.history.was_cut:
            self.forget()

    def moved(self, held, rev, only):
        self.forget()

    def forget(self):
        self.cursors, self.drops = {}, {}

    def answered(self, asked, result, kind, error):
        params = asked.params
        if result is None or not isinstance(params, dict) or asked.is_repeat or asked.method not in LISTS | {"documents.drop"}:
            return
        if asked.method == "documents.drop" and result["dropped"]:
            self.drops[params["collection"]] = asked.sent, asked.answered
        if params.get("cursor") in self.cursors:
            self.went_on(asked, params, result)
        if "cursor" in result:
            self.cursors[result["cursor"]] = whole(result["rev"]), asked.answered

    def went_on(self, asked, params, result):
        rev, given = self.cursors[params["cursor"]]
        if whole(result["rev"]) != rev:
            self.fail("rev", f"request {asked.number}, {asked.method}, is a page of {result['rev']} in a list of {rev}")
        sent, answered = self.drops.get(params.get("collection"), (0, 0))
        if given < sent and answered < asked.sent:
            self.fail("dropped", f"request {asked.number}, {asked.method}, goes on behind a drop of {params['collection']}")

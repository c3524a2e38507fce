"""All judges, in the order in which they are told."""

from judges.caches import Blobs, Leases, Models
from judges.damage import Damage
from judges.documents import Documents
from judges.feed import Feed
from judges.live import Live
from judges.liveness import Liveness, Refusals
from judges.secrets import Secrets
from judges.settings import Settings
from judges.whole import Canary, Histories, Quotas, RequestKeys, Results, Transactions, Undo

JUDGES = [Liveness, Refusals, Settings, Documents, Secrets, Transactions, RequestKeys, Undo, Feed, Live, Models, Blobs, Leases, Quotas, Histories, Results, Canary, Damage]

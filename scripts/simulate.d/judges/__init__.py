"""All judges, in the order in which they are told."""

from judges.attachments import Attachments
from judges.bill import Bill
from judges.caches import Blobs, Models
from judges.damage import Damage
from judges.documents import Documents
from judges.expiry import Expiry
from judges.feed import Feed
from judges.forms import Errors, OnDemand, Results
from judges.fresh import Fresh
from judges.grants import Grants
from judges.growth import Growth
from judges.leases import Leases
from judges.live import Live
from judges.liveness import Liveness, Refusals
from judges.pages import Pages
from judges.past import Past
from judges.quotas import Quotas
from judges.restores import Restores
from judges.search import Search
from judges.secrets import Secrets
from judges.settings import Settings
from judges.upgrades import Upgrades
from judges.whole import Canary, Histories, Numbers, RequestKeys, Transactions, Undo

JUDGES = [
    Liveness, Refusals, Errors, Settings, Documents, Past, Attachments, Search, Secrets, Expiry, Transactions, RequestKeys, Undo, Feed,
    Live, Pages, Models, Fresh, Blobs, Leases, Quotas, Grants, Numbers, Histories, Results, Restores, OnDemand, Bill, Growth, Upgrades,
    Canary, Damage,
]

"""All judges, in the order in which they are told."""

from judges.documents import Documents
from judges.liveness import Liveness, Refusals
from judges.secrets import Secrets
from judges.settings import Settings

JUDGES = [Liveness, Refusals, Settings, Documents, Secrets]

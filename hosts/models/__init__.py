"""Everything that is known about machines."""

from hosts.models.event import HostEvent
from hosts.models.facts import HostFacts
from hosts.models.host import Host, HostKey
from hosts.models.installation import Installation
from hosts.models.lease import HostLease
from hosts.models.link import HostLink, LinkState

__all__ = [
    "Host",
    "HostEvent",
    "HostFacts",
    "HostKey",
    "HostLease",
    "HostLink",
    "Installation",
    "LinkState",
]

"""Everything that is known about machines."""

from hosts.models.facts import HostFacts
from hosts.models.host import Host, HostKey
from hosts.models.lease import HostLease

__all__ = ["Host", "HostFacts", "HostKey", "HostLease"]

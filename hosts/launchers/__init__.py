"""How a server or a load lives on a host: what to ask the node for, and where its log is."""

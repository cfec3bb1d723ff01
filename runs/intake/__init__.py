"""What readings say, put into the order a campaign has: arms, launches, levels. Pure."""

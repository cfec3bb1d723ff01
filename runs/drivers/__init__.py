"""What makes load: a workload to the driver's command, and its output to levels. Pure."""

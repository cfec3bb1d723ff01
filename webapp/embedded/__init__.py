"""What `make demo` runs besides the product: an embedded Redis and a supervisor of processes."""

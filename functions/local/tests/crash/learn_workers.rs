//! Workers that meet: zombies, busy leases, failing models, publishes at the worst moment.

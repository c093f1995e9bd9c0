//! The number of open connections per address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::exchange::client_addr::counted_as;

/// The number of open connections per address.
#[derive(Default)]
pub(crate) struct Census(Mutex<HashMap<IpAddr, usize>>);

impl Census {
    /// Returns a slot for another connection of `address`, or `None` if the address has `max` already.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, max: usize) -> Option<AddressSlot> {
        let address = counted_as(address);
        let mut open = self.0.lock();
        let count = open.entry(address).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(AddressSlot { census: Arc::clone(self), address })
    }
}

/// The slot of one connection in the [`Census`], which is free again after the drop.
pub(crate) struct AddressSlot {
    census: Arc<Census>,
    address: IpAddr,
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.census.0.lock().entry(self.address) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_slot_is_free_again() {
        let census = Arc::new(Census::default());
        let address = "192.0.2.1".parse().unwrap();
        let first = census.enter(address, 1).unwrap();
        assert!(census.enter(address, 1).is_none());
        assert!(census.enter("192.0.2.2".parse().unwrap(), 1).is_some());
        drop(first);
        assert!(census.enter(address, 1).is_some());
        assert!(census.0.lock().is_empty(), "an address without connections is removed");
    }
}

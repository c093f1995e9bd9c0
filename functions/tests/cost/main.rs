//! What functions cost in statements. A binary of its own, since it registers functions that only count.

mod notes;

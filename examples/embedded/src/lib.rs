//! Functions that your program calls in its own process, without a server.

pub mod counters {
    use convoke::prelude::*;

    /// A counter with a name.
    #[table(name = "counters", prefix = "counter")]
    #[index(by_name(name), unique)]
    pub struct Counter {
        pub name: String,
        pub value: i64,
    }

    /// Arguments of [`add`].
    #[args]
    pub struct Add {
        pub name: String,
        /// Number to add.
        #[default(1)]
        pub amount: i64,
    }

    /// Adds to a counter, which starts at zero, and returns its new value.
    ///
    /// # Errors
    /// - `INVALID_ARGUMENT`: the sum exceeds 64 bits.
    #[mutation]
    pub fn add(ctx: &mut MutationCtx, args: Add) -> Result<i64> {
        let found = ctx.db().query(Counter::by_name).eq(&*args.name).unique()?;
        let value = found.as_ref().map_or(0, |counter| counter.value);
        let Some(value) = value.checked_add(args.amount) else {
            return Err(Error::invalid_argument("amount", "the sum is too large"));
        };
        match found {
            Some(counter) => drop(ctx.db_mut().patch_doc(counter, |row| row.value = value)?),
            None => drop(ctx.db_mut().insert(Counter { name: args.name, value })?),
        }
        Ok(value)
    }
}

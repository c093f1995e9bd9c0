//! Scheduled work, and functions for the operator.

use std::time::Duration;

use convoke::prelude::*;

use crate::loans::Loan;

/// Time after the end of a loan when it is given up.
const GIVEN_UP: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Deletes lost loans every night at three.
#[mutation(internal)]
#[cron("0 3 * * *")]
pub fn give_up(ctx: &mut MutationCtx) -> Result<()> {
    let end = ctx.now() - GIVEN_UP;
    for loan in ctx.db().query(Loan::by_end).range(..end).take(100)? {
        ctx.db_mut().delete(loan.id())?;
        warn!("{} is given up", loan.book);
    }
    Ok(())
}

/// Returns the number of borrowed books. For a deploy key, or `convoke run` beside the data folder.
#[query(admin)]
pub fn books_out(ctx: &QueryCtx) -> Result<u64> {
    Ok(ctx.db().scan::<Loan>().count()?)
}

//! Who has which book, and until when.

use std::time::Duration;

use convoke::prelude::*;

use crate::books::{Book, signed_in};

convoke::section! {
    /// What the shelf decides.
    pub struct Shelf in "shelf" {
        /// How long a book may be kept, in days.
        pub loan_days: u32 = 14,
        /// Books that one person may have at once.
        pub loans_per_person: u32 = 3,
    }
}

/// A book that somebody has.
#[table(name = "loans", prefix = "loan")]
#[index(by_book(book), unique)]
#[index(by_person(person))]
#[index(by_end(until))]
pub struct Loan {
    pub book: Id<Book>,
    pub person: String,
    pub until: Millis,
}

/// What [`borrow_book`] takes.
#[args]
pub struct BorrowBook {
    pub book: Id<Book>,
    /// The same key, sent again because no answer came, borrows once and is answered the same.
    pub idempotency_key: Option<String>,
}

/// Borrows a book, and has its end remembered.
///
/// # Errors
/// - `NOT_FOUND`: there is no such book.
/// - `CONFLICT`: somebody has it.
/// - `FAILED_PRECONDITION`: the person has as many as they may.
#[mutation(rights = signed_in)]
pub fn borrow_book(ctx: &mut MutationCtx, person: String, args: BorrowBook) -> Result<Id<Loan>> {
    ctx.once(args.idempotency_key.clone().as_deref(), &args.clone(), |ctx| {
        let shelf = ctx.settings::<Shelf>();
        if ctx.db().get(args.book)?.is_none() {
            return Err(Error::not_found("There is no such book"));
        }
        if ctx.db().query(Loan::by_person).eq(&person).count()? >= u64::from(shelf.loans_per_person) {
            return Err(Error::failed_precondition("Bring a book back first"));
        }
        let until = ctx.now() + Duration::from_secs(u64::from(shelf.loan_days) * 24 * 60 * 60);
        // The unique index answers CONFLICT if somebody has the book.
        let loan = ctx.db_mut().insert(Loan { book: args.book, person, until })?;
        ctx.db_mut().patch(args.book, |book| book.times_borrowed += 1)?;
        ctx.schedule::<remind>(until, Remind { loan })?;
        Ok(loan)
    })
}

/// What [`give_back`] takes.
#[args]
pub struct GiveBack {
    pub loan: Id<Loan>,
}

/// Gives a book back.
///
/// # Errors
/// - `NOT_FOUND`: there is no such loan, or it is somebody else's.
#[mutation(rights = own_loan(args.loan))]
pub fn give_back(ctx: &mut MutationCtx, loan: Doc<Loan>, _: GiveBack) -> Result<()> {
    ctx.db_mut().delete(loan.id())?;
    Ok(())
}

/// A loan of the caller's.
fn own_loan(ctx: &impl Read, loan: Id<Loan>) -> Result<Doc<Loan>> {
    let person = signed_in(ctx)?;
    let loan = ctx.db().get(loan)?.filter(|loan| loan.person == person);
    loan.ok_or_else(|| Error::not_found("There is no such loan of yours"))
}

/// What [`remind`] takes.
#[args]
pub struct Remind {
    pub loan: Id<Loan>,
}

/// Runs when a loan ends. No client can call it.
#[mutation(internal)]
pub fn remind(ctx: &mut MutationCtx, args: Remind) -> Result<()> {
    // A person who brought the book back in time needs no reminder.
    if let Some(loan) = ctx.db().get(args.loan)? {
        warn!("{} should bring {} back", loan.person, loan.book);
    }
    Ok(())
}

//! Loans of books.

use std::time::Duration;

use convoke::prelude::*;

use crate::books::{Book, signed_in};

convoke::section! {
    /// Settings of the shelf.
    pub struct Shelf in "shelf" {
        /// Length of a loan in days.
        pub loan_days: u32 = 14,
        /// Most concurrent loans per person.
        pub loans_per_person: u32 = 3,
    }
}

/// A borrowed book.
#[table(name = "loans", prefix = "loan")]
#[index(by_book(book), unique)]
#[index(by_person(person))]
#[index(by_end(until))]
pub struct Loan {
    pub book: Id<Book>,
    pub person: String,
    pub until: Millis,
}

/// Arguments of [`borrow_book`].
#[args]
pub struct BorrowBook {
    pub book: Id<Book>,
    /// A retry with the same key borrows once and gets the same response.
    pub idempotency_key: Option<String>,
}

/// Borrows a book and schedules a reminder.
///
/// # Errors
/// - `NOT_FOUND`: there is no such book.
/// - `CONFLICT`: another person has it.
/// - `FAILED_PRECONDITION`: the person has reached the limit of loans.
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
        // The unique index fails with CONFLICT if another person has the book.
        let loan = ctx.db_mut().insert(Loan { book: args.book, person, until })?;
        ctx.db_mut().patch(args.book, |book| book.times_borrowed += 1)?;
        ctx.schedule::<remind>(until, Remind { loan })?;
        Ok(loan)
    })
}

/// Arguments of [`give_back`].
#[args]
pub struct GiveBack {
    pub loan: Id<Loan>,
}

/// Returns a book.
///
/// # Errors
/// - `NOT_FOUND`: there is no such loan, or it is another person's.
#[mutation(rights = own_loan(args.loan))]
pub fn give_back(ctx: &mut MutationCtx, loan: Doc<Loan>, _: GiveBack) -> Result<()> {
    ctx.db_mut().delete(loan.id())?;
    Ok(())
}

/// Returns a loan of the caller.
fn own_loan(ctx: &impl Read, loan: Id<Loan>) -> Result<Doc<Loan>> {
    let person = signed_in(ctx)?;
    let loan = ctx.db().get(loan)?.filter(|loan| loan.person == person);
    loan.ok_or_else(|| Error::not_found("There is no such loan of yours"))
}

/// Arguments of [`remind`].
#[args]
pub struct Remind {
    pub loan: Id<Loan>,
}

/// Runs at the end of a loan. No client can call it.
#[mutation(internal)]
pub fn remind(ctx: &mut MutationCtx, args: Remind) -> Result<()> {
    // A returned book needs no reminder.
    if let Some(loan) = ctx.db().get(args.loan)? {
        warn!("{} should bring {} back", loan.person, loan.book);
    }
    Ok(())
}

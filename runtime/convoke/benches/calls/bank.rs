//! The work: accounts that are read, listed, and between which money moves. Path: `bank/<function>`.

use convoke::prelude::*;
use convoke::{Encoded, args, mutation, query, table};

/// Accounts in every database.
pub(crate) const ACCOUNTS: i64 = 1_000;
/// What each holds at first.
pub(crate) const BALANCE: i64 = 1_000_000;
/// Accounts of one owner: what a list returns.
pub(crate) const LISTED: i64 = 50;

/// An account.
#[table(name = "accounts", prefix = "account")]
#[index(by_number(number), unique)]
#[index(by_owner(owner))]
pub(crate) struct Account {
    pub number: i64,
    pub owner: String,
    pub balance: i64,
    pub note: String,
}

#[args]
pub(crate) struct GetAccount {
    pub id: Id<Account>,
}

/// Reads an account by its id.
#[query]
pub(crate) fn get_account(ctx: &QueryCtx, args: GetAccount) -> Result<i64> {
    let account = ctx.db().get(args.id)?.ok_or_else(|| Error::not_found("No such account"))?;
    Ok(account.balance)
}

#[args]
pub(crate) struct ListAccounts {
    pub owner: String,
}

/// Lists the accounts of an owner.
#[query]
pub(crate) fn list_accounts(ctx: &QueryCtx, args: ListAccounts) -> Result<Encoded<Vec<Doc<Account>>>> {
    Ok(ctx.db().query(Account::by_owner).eq(&args.owner).encode(usize::try_from(LISTED).unwrap_or(0))?)
}

#[args]
pub(crate) struct Transfer {
    pub from: i64,
    pub to: i64,
    pub amount: i64,
}

/// Moves money: two reads, two writes.
#[mutation]
pub(crate) fn transfer(ctx: &mut MutationCtx, args: Transfer) -> Result<i64> {
    let missing = || Error::not_found("No such account");
    let from = ctx.db().query(Account::by_number).eq(args.from).unique()?.ok_or_else(missing)?;
    let to = ctx.db().query(Account::by_number).eq(args.to).unique()?.ok_or_else(missing)?;
    if from.balance < args.amount {
        return Err(Error::failed_precondition("Not enough money"));
    }
    let from = ctx.db_mut().patch_doc(from, |row| row.balance -= args.amount)?;
    ctx.db_mut().patch_doc(to, |row| row.balance += args.amount)?;
    Ok(from.balance)
}

/// Opens every account.
#[mutation]
pub(crate) fn open_accounts(ctx: &mut MutationCtx) -> Result<Vec<Id<Account>>> {
    (0..ACCOUNTS)
        .map(|number| {
            let owner = format!("owner-{}", number / LISTED);
            let note = "an account like every other".to_owned();
            Ok(ctx.db_mut().insert(Account { number, owner, balance: BALANCE, note })?)
        })
        .collect()
}

/// Adds up all balances.
#[query]
pub(crate) fn total(ctx: &QueryCtx) -> Result<i64> {
    let all = ctx.db().scan::<Account>().take(usize::try_from(ACCOUNTS).unwrap_or(0))?;
    Ok(all.iter().map(|account| account.balance).sum())
}

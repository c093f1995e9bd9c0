//! The work, written as the developer's guide teaches it: accounts that are read, listed, and between which money moves,
//! messages that are stored, by calls and by the steps of workflows, and files. Path: `bank/<function>`.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{File, StorageId, Upload, args, mutation, query, route, table};

/// Initial balance of each account.
pub(crate) const BALANCE: i64 = 1_000_000;
/// Accounts of one owner: what a list returns.
pub(crate) const LISTED: i64 = 50;
/// Accounts that one mutation opens.
pub(crate) const OPENED_AT_ONCE: i64 = 5_000;

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

/// A message of a person.
#[table(name = "messages", prefix = "message")]
#[index(by_author(author))]
pub(crate) struct Message {
    pub author: i64,
    pub text: String,
}

/// Does nothing.
#[query]
pub(crate) fn nothing(_ctx: &QueryCtx) -> Result<i64> {
    Ok(BALANCE)
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
pub(crate) struct GetAccountOnce {
    pub id: Id<Account>,
    /// Another one at each call, so that no earlier result is one of this.
    pub turn: i64,
}

/// Reads an account by its id.
#[query]
pub(crate) fn get_account_once(ctx: &QueryCtx, args: GetAccountOnce) -> Result<i64> {
    get_account(ctx, GetAccount { id: args.id })
}

/// Reads an account by its id, for a person who is signed in.
#[query]
pub(crate) fn get_account_signed_in(ctx: &QueryCtx, args: GetAccount) -> Result<i64> {
    let _identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
    get_account(ctx, args)
}

#[args]
pub(crate) struct ListAccounts {
    pub owner: String,
}

/// Lists the accounts of an owner.
#[query]
pub(crate) fn list_accounts(ctx: &QueryCtx, args: ListAccounts) -> Result<Vec<Doc<Account>>> {
    Ok(ctx.db().query(Account::by_owner).eq(&args.owner).take(usize::try_from(LISTED).unwrap_or(0))?)
}

#[args]
pub(crate) struct ListAccountsOnce {
    pub owner: String,
    /// As in [`GetAccountOnce`].
    pub turn: i64,
}

/// Lists the accounts of an owner.
#[query]
pub(crate) fn list_accounts_once(ctx: &QueryCtx, args: ListAccountsOnce) -> Result<Vec<Doc<Account>>> {
    list_accounts(ctx, ListAccounts { owner: args.owner })
}

/// Lists the accounts of an owner, as JSON that was written out of the store.
#[query]
pub(crate) fn encode_accounts_once(ctx: &QueryCtx, args: ListAccountsOnce) -> Result<Encoded<Vec<Doc<Account>>>> {
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

#[args]
pub(crate) struct PostMessage {
    pub author: i64,
    pub text: String,
}

/// Stores a message.
#[mutation]
pub(crate) fn post_message(ctx: &mut MutationCtx, args: PostMessage) -> Result<Id<Message>> {
    Ok(ctx.db_mut().insert(Message { author: args.author, text: args.text })?)
}

/// Steps of one run; a run reads its journal at each of them.
const STEPS_OF_RUN: usize = 10;
/// Author of the messages of steps.
const STEPPER: i64 = -1;

#[args]
pub(crate) struct Steps {
    /// End of the steps.
    pub until: Millis,
}

/// Stores messages, one per step, and then starts the next run.
#[workflow]
pub(crate) async fn step_until(ctx: &WorkflowCtx, args: Steps) -> Result<()> {
    let Steps { until } = args;
    for _ in 0..STEPS_OF_RUN {
        if !ctx.run::<step>(Steps { until }).await? {
            return Ok(());
        }
    }
    ctx.start::<step_until>(Steps { until }).await.map(drop)
}

/// Stores a message as [`post_message`] does. Returns false after the end.
#[mutation(internal)]
pub(crate) fn step(ctx: &mut MutationCtx, args: Steps) -> Result<bool> {
    ctx.db_mut().insert(Message { author: STEPPER, text: "a message like every other".to_owned() })?;
    Ok(ctx.now() < args.until)
}

#[args]
pub(crate) struct StartSteps {
    pub runs: i64,
    /// Time of the steps in milliseconds.
    pub time_ms: i64,
}

/// Starts runs that store messages for a time.
#[mutation]
pub(crate) fn start_steps(ctx: &mut MutationCtx, args: StartSteps) -> Result<()> {
    let until = ctx.now() + Duration::from_millis(args.time_ms.unsigned_abs());
    for _ in 0..args.runs {
        ctx.start::<step_until>(Steps { until })?;
    }
    Ok(())
}

/// Counts the messages of steps.
#[query]
pub(crate) fn count_steps(ctx: &QueryCtx) -> Result<u64> {
    Ok(ctx.db().query(Message::by_author).eq(STEPPER).count()?)
}

/// Does nothing, as [`nothing`], under a path of its own.
#[route(POST, "/nothing")]
pub(crate) fn nothing_at_a_path(_ctx: &QueryCtx) -> Result<i64> {
    Ok(BALANCE)
}

/// A stored file.
#[table(name = "documents", prefix = "document")]
pub(crate) struct Document {
    #[file(max = "1GiB")]
    pub content: File,
}

/// Returns an address for an upload.
#[mutation]
pub(crate) fn begin_upload(ctx: &mut MutationCtx) -> Result<Upload> {
    ctx.files().upload::<Document>()
}

#[args]
pub(crate) struct StoreDocument {
    pub upload: StorageId,
}

/// Stores an uploaded file, and returns a link to it.
#[mutation]
pub(crate) fn store_document(ctx: &mut MutationCtx, args: StoreDocument) -> Result<String> {
    let content = ctx.files().take(args.upload)?;
    let id = ctx.db_mut().insert(Document { content })?;
    let document = ctx.db().get(id)?.ok_or_else(|| Error::not_found("No such document"))?;
    ctx.files().link(&document.content, Duration::from_hours(1)).url()
}

#[args]
pub(crate) struct OpenAccounts {
    pub first: i64,
}

/// Opens accounts from a number on.
#[mutation]
pub(crate) fn open_accounts(ctx: &mut MutationCtx, args: OpenAccounts) -> Result<Vec<Id<Account>>> {
    (args.first..args.first + OPENED_AT_ONCE)
        .map(|number| {
            let owner = format!("owner-{}", number / LISTED);
            let note = "an account like every other".to_owned();
            Ok(ctx.db_mut().insert(Account { number, owner, balance: BALANCE, note })?)
        })
        .collect()
}

#[args]
pub(crate) struct Total {
    pub first: i64,
    pub count: i64,
}

/// Adds up the balances of some accounts.
#[query]
pub(crate) fn total(ctx: &QueryCtx, args: Total) -> Result<i64> {
    let accounts = ctx.db().query(Account::by_number).range(args.first..args.first + args.count);
    Ok(accounts.take(usize::try_from(args.count).unwrap_or(0))?.iter().map(|account| account.balance).sum())
}

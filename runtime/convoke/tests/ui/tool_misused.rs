#![allow(unused)]

use convoke::prelude::*;

/// Saves.
#[mutation(internal, tool)]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

/// Exports.
#[query(tool, admin)]
pub fn export(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

/// Notes a new identity.
#[mutation(identity_hook, tool)]
pub fn seen(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

/// Fetches.
#[action(tool = true)]
pub async fn fetch(ctx: &ActionCtx) -> Result<()> {
    Ok(())
}

#[query(tool)]
pub fn look(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}

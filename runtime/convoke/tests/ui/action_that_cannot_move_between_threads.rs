#![allow(unused)]

use convoke::prelude::*;

#[action]
pub async fn fetch(ctx: &ActionCtx) -> Result<()> {
    let shared = std::rc::Rc::new(1);
    ctx.sleep(std::time::Duration::ZERO).await;
    drop(shared);
    Ok(())
}

fn main() {}

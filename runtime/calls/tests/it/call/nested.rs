//! Calls of functions by functions: their depth is limited, because they are on the stack of one thread.

use std::pin::Pin;

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::{action, args, mutation, query};
use serde_json::json;

#[args]
#[derive(Copy)]
pub(super) struct Levels {
    pub levels: u32,
}

#[query]
pub(super) fn queries(ctx: &QueryCtx, args: Levels) -> Result<u32> {
    match args.levels {
        0 => Ok(0),
        levels => Ok(1 + ctx.run::<queries>(Levels { levels: levels - 1 })?),
    }
}

#[mutation]
pub(super) fn mutations(ctx: &mut MutationCtx, args: Levels) -> Result<u32> {
    match args.levels {
        0 => Ok(0),
        levels => Ok(1 + ctx.run::<mutations>(Levels { levels: levels - 1 })?),
    }
}

#[action]
pub(super) async fn actions(ctx: &ActionCtx, args: Levels) -> Result<u32> {
    match args.levels {
        0 => Ok(0),
        levels => {
            let inner: Pin<Box<dyn Future<Output = Result<u32>> + Send>> =
                Box::pin(ctx.run::<actions>(Levels { levels: levels - 1 }));
            Ok(1 + inner.await?)
        }
    }
}

/// Calls one function after another, so that none is inside another.
#[query]
pub(super) fn in_a_row(ctx: &QueryCtx, args: Levels) -> Result<u32> {
    (0..args.levels).map(|_| ctx.run::<queries>(Levels { levels: 1 })).sum()
}

#[test]
fn recursion_beyond_the_depth_fails_the_call_and_not_the_process() {
    let app = TestApp::new();
    for function in ["queries", "mutations", "actions"] {
        let call = |levels: u32| app.nobody().call(&format!("call/nested/{function}"), json!({ "levels": levels }));
        assert_eq!(call(64).value(), &json!(64), "{function}");
        for beyond in [65, u32::MAX] {
            let reply = call(beyond);
            assert_eq!(reply.code(), "INTERNAL");
            let said = format!("call/nested/{function} was called at a depth of more than 64 calls");
            assert!(reply.error().chain().contains(&said), "{}", reply.error().chain());
        }
    }
    let reply = app.nobody().call("call/nested/inARow", json!({ "levels": 1_000 }));
    assert_eq!(reply.value(), &json!(1_000));
}

//! The unchanged crate `convex` on the sync protocol against a real server. `PROBES` has the URL, or the arguments are
//! `watch URL NAME`.

use std::collections::BTreeMap;
use std::time::Duration;

use convex::{ConvexClient, FunctionResult, Value};
use futures_util::StreamExt as _;

fn named(name: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("name".to_owned(), name.into())])
}

fn value(result: FunctionResult) -> Value {
    match result {
        FunctionResult::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, watch, url, name] = &*args
        && watch == "watch"
    {
        return self::watch(url, name).await;
    }
    let url = std::env::var("PROBES").expect("PROBES is set");
    let done = tokio::time::timeout(Duration::from_secs(120), run(&url)).await;
    done.expect("it ends within two minutes");
}

/// Prints `seen N` for each result of a count. Counts for each line of standard input, and prints `done N`.
async fn watch(url: &str, name: &str) {
    let mut client = ConvexClient::new(url).await.unwrap();
    let mut counts = client.subscribe("probes/values:counted", named(name)).await.unwrap();
    let say = |what: &str, result| match value(result) {
        Value::Float64(count) => println!("{what} {count}"),
        other => panic!("{other:?}"),
    };
    tokio::spawn(async move {
        while let Some(result) = counts.next().await {
            say("seen", result);
        }
    });
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lines().try_for_each(|_| sender.send(())));
    while lines.recv().await.is_some() {
        say("done", client.mutation("probes/values:count", named(name)).await.unwrap());
    }
}

async fn run(url: &str) {
    let mut client = ConvexClient::new(url).await.unwrap();
    let mut counts = client.subscribe("probes/values:counted", named("rust")).await.unwrap();
    assert_eq!(value(counts.next().await.unwrap()), Value::Float64(0.0));
    for expected in [1.0, 2.0, 3.0] {
        let counted = client.mutation("probes/values:count", named("rust")).await.unwrap();
        assert_eq!(value(counted), Value::Float64(expected));
        while value(counts.next().await.unwrap()) != Value::Float64(expected) {}
    }
    let wide = BTreeMap::from([("wide".to_owned(), Value::Int64(i64::MAX))]);
    let Value::Object(echoed) = value(client.query("probes/values:echo", wide).await.unwrap()) else { panic!() };
    assert_eq!(echoed["wide"], Value::Int64(i64::MAX));
    let failing = [("code".to_owned(), "CONFLICT".into()), ("message".to_owned(), "Taken".into())];
    let failed = client.mutation("probes/failures:mutation", BTreeMap::from(failing)).await.unwrap();
    let FunctionResult::ConvexError(error) = failed else { panic!("{failed:?}") };
    assert_eq!(error.message, "Taken");
    client.set_auth(Some(std::env::var("PROBES_TOKEN").expect("PROBES_TOKEN is set"))).await;
    let who = value(client.query("probes/values:who", BTreeMap::new()).await.unwrap());
    assert_eq!(who, Value::String("ada".to_owned()));
    println!("rust: the crate works unchanged");
}

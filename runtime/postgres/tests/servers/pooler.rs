//! PgBouncer between a node and its server.

use convoke_store::Table as _;
use convoke_store::conformance::support::{Account, open_with, patient};

use crate::cluster::{Cluster, Pooler};
use crate::{beside, deposit, engine, is_touched, node, read_balance, until};

#[test]
fn pooler_in_transaction_mode_is_rejected_even_with_one_node() {
    let server = Cluster::new();
    for mode in ["transaction", "statement"] {
        let pooler = Pooler::new(&server, mode);
        let folder = tempfile::tempdir().unwrap();
        let opened = open_with(&engine(&pooler.url()), folder.path(), &patient(), &[Account::DEF]);
        let said = opened.err().unwrap().to_string();
        assert!(said.contains("a connection pooler in transaction mode"), "{said}");
        assert!(said.contains("pool_mode = session"), "{said}");
    }
}

#[test]
fn pooler_in_session_mode_works() {
    let server = Cluster::new();
    let pooler = Pooler::new(&server, "session");
    let first = node(&pooler.url());
    let second = beside(&first, &pooler.url());
    let before = read_balance(&second, "ada").unwrap();
    for _ in 0..20 {
        assert_eq!(read_balance(&first, "ada").unwrap().1, None);
    }
    deposit(&first, "ada", 1).unwrap();
    until("the second node follows", || is_touched(&second, &before));
    assert_eq!(read_balance(&second, "ada").unwrap().1, Some(1));
    first.ready().unwrap();
    second.ready().unwrap();
}

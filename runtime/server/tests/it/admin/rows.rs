//! Rows added, changed and removed by the operator.

use convoke::store::Value;
use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::{Value as Json, json};

use super::Door;

const COUNTERS: &str = "/api/admin/tables/counters";

fn added(door: &Door<'_>, name: &str, count: i64) -> String {
    let body = json!({ "set": { "name": name, "count": count } });
    door.operator(Method::POST, COUNTERS, Some(&body)).value()["id"].as_str().unwrap().to_owned()
}

fn row(door: &Door<'_>, id: &str) -> Json {
    door.operator(Method::GET, &format!("{COUNTERS}?id={id}"), None).value()["rows"][0].clone()
}

fn names(page: &Json) -> Vec<&str> {
    page["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn row_edits_update_indexes() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let id = added(&door, "a", 1);
    assert_eq!((&row(&door, &id)["name"], &row(&door, &id)["count"]), (&json!("a"), &json!(1)));
    let path = format!("{COUNTERS}/{id}");
    let changed = door.operator(Method::PATCH, &path, Some(&json!({ "set": { "name": "b" }, "was": { "name": "a" } })));
    assert_eq!(changed.value()["id"], id);
    let by_name = |name: &str| door.operator(Method::GET, &format!("{COUNTERS}?index=by_name&where=name={name}"), None);
    assert_eq!(names(by_name("b").value()), ["b"]);
    assert!(names(by_name("a").value()).is_empty());
    // A function sees it too.
    let counted = door.operator(Method::POST, "/api/run/work/increment", Some(&json!({ "args": { "name": "b" } })));
    assert_eq!(*counted.value(), 2, "{}", counted.body);
    assert_eq!(door.operator(Method::DELETE, &path, None).value()["id"], id);
    assert_eq!(row(&door, &id), Json::Null);
    assert_eq!(door.operator(Method::DELETE, &path, None).code(), "NOT_FOUND");
    assert_eq!(door.operator(Method::PATCH, &path, Some(&json!({ "set": { "count": 1 } }))).code(), "NOT_FOUND");
}

#[test]
fn invalid_row_is_rejected_with_its_field() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let id = added(&door, "a", 1);
    added(&door, "b", 2);
    let path = format!("{COUNTERS}/{id}");
    for (set, code, field) in [
        (json!({ "count": "one" }), "INVALID_ARGUMENT", "count"),
        (json!({ "count": null }), "INVALID_ARGUMENT", "count"),
        (json!({ "age": 1 }), "INVALID_ARGUMENT", "age"),
        (json!({ "name": "b\u{0}" }), "INVALID_ARGUMENT", "name"),
        (json!({}), "INVALID_ARGUMENT", "set"),
    ] {
        let refused = door.operator(Method::PATCH, &path, Some(&json!({ "set": set })));
        assert_eq!(
            (refused.code(), refused.body["errorData"]["field"].as_str()),
            (code, Some(field)),
            "{}",
            refused.body
        );
    }
    let taken = door.operator(Method::PATCH, &path, Some(&json!({ "set": { "name": "b", "count": 7 } })));
    assert_eq!(
        (taken.code(), &taken.body["errorMessage"]),
        ("CONFLICT", &json!("A row of counters with the same name already exists (unique index by_name)"))
    );
    assert_eq!(taken.body["errorData"]["index"], "by_name");
    let stale = door.operator(Method::PATCH, &path, Some(&json!({ "set": { "count": 7 }, "was": { "count": 5 } })));
    assert_eq!((stale.code(), stale.body["errorData"]["field"].as_str()), ("CONFLICT", Some("count")));
    let missing = door.operator(Method::POST, COUNTERS, Some(&json!({ "set": { "name": "c" } })));
    assert_eq!((missing.code(), missing.body["errorData"]["field"].as_str()), ("INVALID_ARGUMENT", Some("count")));
    assert_eq!(row(&door, &id)["count"], 1);
}

#[test]
fn runtime_tables_are_read_only_and_writing_needs_its_scope() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let refused = door.operator(Method::POST, "/api/admin/tables/_jobs", Some(&json!({ "set": {} })));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    let key = door.key("looks", &["data"]);
    let body = json!({ "set": { "name": "a", "count": 1 } });
    let refused = door.with(Some(&key), Method::POST, COUNTERS, Some(&body));
    assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_SCOPE"));
    let writes = door.key("writes", &["data-write"]);
    let added = door.with(Some(&writes), Method::POST, COUNTERS, Some(&body));
    assert_eq!(added.status, 200, "{}", added.body);
    let record = door.operator(Method::GET, "/api/admin/audit?key=writes", None);
    assert_eq!(record.value()["items"][0]["what"], "POST tables/counters");
}

#[test]
fn rows_page_through_any_index_in_both_directions() {
    let app = TestApp::new();
    let door = Door::of(&app);
    for name in ["c", "a", "e", "b", "d"] {
        added(&door, name, 1);
    }
    for (query, expected) in [
        ("", [vec!["c", "a"], vec!["e", "b"], vec!["d"]]),
        ("order=desc&", [vec!["d", "b"], vec!["e", "a"], vec!["c"]]),
        ("index=by_name&", [vec!["a", "b"], vec!["c", "d"], vec!["e"]]),
        ("index=by_name&order=desc&", [vec!["e", "d"], vec!["c", "b"], vec!["a"]]),
    ] {
        let mut cursor = String::new();
        for page in expected {
            let shown = door.operator(Method::GET, &format!("{COUNTERS}?{query}limit=2{cursor}"), None);
            assert_eq!(names(shown.value()), page, "{query}");
            cursor = format!("&cursor={}", shown.value()["cursor"].as_str().unwrap_or_default());
        }
        assert_eq!(cursor, "&cursor=", "{query}");
    }
    for (query, expected) in [
        ("", [vec!["b", "d"], vec!["a", "e"], vec!["c"]]),
        ("order=desc&", [vec!["a", "c"], vec!["b", "e"], vec!["d"]]),
        ("index=by_name&", [vec!["d", "e"], vec!["b", "c"], vec!["a"]]),
        ("index=by_name&order=desc&", [vec!["b", "a"], vec!["d", "c"], vec!["e"]]),
    ] {
        let at = |rest: &str| {
            let shown = door.operator(Method::GET, &format!("{COUNTERS}?{query}limit=2{rest}"), None);
            let cursor = |name: &str| shown.value()[name].as_str().unwrap_or_default().to_owned();
            let looked_at = shown.value()["lookedAt"].as_u64().unwrap();
            assert!(looked_at <= 3, "{looked_at} rows for a page of 2");
            let names: Vec<_> = names(shown.value()).into_iter().map(str::to_owned).collect();
            (names, cursor("before"), cursor("cursor"))
        };
        let mut rest = "&back=true".to_owned();
        for (number, page) in expected.iter().enumerate() {
            let (names, before, behind) = at(&rest);
            assert_eq!(names, *page, "{query}{rest}");
            match number {
                0 => assert_eq!(behind, "", "it is the last page"),
                number => assert_eq!(at(&format!("&cursor={behind}")).0, expected[number - 1], "{query}{rest}"),
            }
            rest = format!("&back=true&cursor={before}");
        }
        assert_eq!(rest, "&back=true&cursor=", "{query}");
    }
    assert_eq!(door.operator(Method::GET, &format!("{COUNTERS}?index=by_age"), None).code(), "INVALID_ARGUMENT");
    assert_eq!(door.operator(Method::GET, &format!("{COUNTERS}?order=up"), None).code(), "INVALID_ARGUMENT");
    let tables = door.operator(Method::GET, "/api/admin/tables?estimate=true", None);
    let counters =
        tables.value()["tables"].as_array().unwrap().iter().find(|table| table["name"] == "counters").unwrap();
    assert_eq!((&counters["rows"], &counters["estimated"]), (&json!(5), &json!(false)), "few are counted");
}

#[test]
fn several_conditions_combine_and_are_counted() {
    let app = TestApp::new();
    let door = Door::of(&app);
    for (name, count) in [("apple", 1), ("Apricot", 2), ("banana", 3), ("cherry", 4)] {
        added(&door, name, count);
    }
    let found = |wheres: &[&str]| {
        let query: Vec<String> = wheres
            .iter()
            .map(|text| text.replace('<', "%3C").replace('>', "%3E").replace('≠', "%E2%89%A0").replace('!', "%21"))
            .map(|text| format!("where={text}"))
            .collect();
        let query = query.join("&");
        let page = door.operator(Method::GET, &format!("{COUNTERS}?{query}"), None);
        let counted = door.operator(Method::GET, &format!("{COUNTERS}/count?{query}"), None);
        let names: Vec<String> = names(page.value()).into_iter().map(str::to_owned).collect();
        assert_eq!(counted.value()["count"], names.len(), "{query}");
        assert_eq!(counted.value()["cursor"], Json::Null);
        names
    };
    assert_eq!(found(&["name~AP"]), ["apple", "Apricot"]);
    assert_eq!(found(&["name~a", "count>1"]), ["Apricot", "banana"]);
    assert_eq!(found(&["count>=2", "count<4"]), ["Apricot", "banana"]);
    assert_eq!(found(&["count!=2", "count≠3"]), ["apple", "cherry"]);
    assert_eq!(found(&["name=banana", "count=3"]), ["banana"]);
    assert!(found(&["name=banana", "count=4"]).is_empty());
    assert_eq!(found(&["_creationTime>1970-01-02", "count<=1"]), ["apple"]);
    assert!(found(&["_creationTime<1970-01-02"]).is_empty());
    assert_eq!(found(&["name>b"]), ["banana", "cherry"], "text is compared bytewise");
    let ordered = door.operator(Method::GET, &format!("{COUNTERS}?index=by_name&where=name%3Eb&order=desc"), None);
    assert_eq!((names(ordered.value()), &ordered.value()["lookedAt"]), (vec!["cherry", "banana"], &json!(2)));
    let unique = door.operator(Method::GET, &format!("{COUNTERS}?where=name=cherry"), None);
    assert_eq!((names(unique.value()), &unique.value()["lookedAt"]), (vec!["cherry"], &json!(1)), "an index finds it");
    for refused in ["name", "=x", "nothing=1", "count=many", "_creationTime=soon", "count~~"] {
        let reply = door.operator(Method::GET, &format!("{COUNTERS}?where={refused}"), None);
        let is_refused = reply.body["status"] == "error";
        assert_eq!(is_refused, refused != "count~~", "{refused}: {}", reply.body);
    }
}

#[test]
fn count_continues_after_the_counted_rows() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let people = *app.store().tables().iter().find(|table| table.name == "people").unwrap();
    let write = app.database().write_admin("many rows", move |db| {
        (1..=50_010).try_for_each(|id| {
            let row = [Value::Text(id.to_string()), Value::Integer(0)];
            Ok(db.writer().insert(people, id, 0, &row)?)
        })
    });
    app.block_on(write).unwrap();
    let count = |query: &str| door.operator(Method::GET, &format!("/api/admin/tables/people/count?{query}"), None);
    let first = count("");
    assert_eq!(first.value()["count"], 50_000);
    let cursor = first.value()["cursor"].as_str().unwrap();
    let rest = count(&format!("cursor={cursor}"));
    assert_eq!((&rest.value()["count"], &rest.value()["cursor"]), (&json!(10), &Json::Null));
}

#[test]
fn selected_rows_are_deleted_in_one_transaction() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let ids: Vec<String> = (0..3).map(|count| added(&door, &format!("{count}"), count)).collect();
    let delete =
        |ids: &[&str]| door.operator(Method::POST, &format!("{COUNTERS}/delete"), Some(&json!({ "ids": ids })));
    assert_eq!(delete(&[&ids[0], "meeting_01h455vb4pex5vsknk084sn02q"]).code(), "INVALID_ARGUMENT");
    assert_eq!(*delete(&[&ids[0], &ids[1], &ids[1]]).value(), json!({ "removed": 2 }));
    let page = door.operator(Method::GET, COUNTERS, None);
    assert_eq!(names(page.value()), ["2"]);
    let reader = door.key("reader", &["data"]);
    let refused =
        door.with(Some(&reader), Method::POST, &format!("{COUNTERS}/delete"), Some(&json!({ "ids": [ids[2]] })));
    assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_SCOPE"));
}

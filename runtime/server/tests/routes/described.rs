//! Routes in the descriptions: OpenAPI, the list of functions, and the log of calls.

use serde_json::{Value, json};

use crate::client::send;
use crate::shop::app;

#[test]
fn openapi_has_routes_under_their_own_paths() {
    let app = app();
    let server = app.serve();
    let document: Value = send(&app, &server, "GET", "/openapi.json", &[], "").json();
    let paths = document["paths"].as_object().unwrap();
    assert!(!paths.keys().any(|path| path.starts_with("/api/run/shop/")));
    let (list, add) = (&paths["/payments"]["get"], &paths["/payments"]["post"]);
    assert_eq!((&list["summary"], &list["x-convoke-kind"]), (&json!("Lists payments"), &json!("query")));
    let named: Vec<_> = list["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(named, ["from", "isOpen", "order"]);
    assert!(add["requestBody"]["content"]["application/json"]["schema"]["$ref"].is_string(), "{add}");
    let receipt = &paths["/receipts/{order}.txt"]["get"]["parameters"][0];
    assert_eq!(
        (&receipt["name"], &receipt["in"], &receipt["required"]),
        (&json!("order"), &json!("path"), &json!(true))
    );
    assert!(paths["/echo/{rest}"]["put"]["description"].is_string());
    assert!(paths["/hooks/payments"]["post"]["description"].as_str().unwrap().contains("Standard Webhooks"));
}

#[test]
fn list_of_functions_has_the_method_and_the_path() {
    let app = app();
    let function = app.runtime().registry().get("shop/receipt").unwrap();
    assert_eq!(function.def.route.unwrap().to_string(), "GET /receipts/{order}.txt");
    assert_eq!(app.runtime().registry().get("shop/payments").unwrap().def.rights, Some("standard_webhooks"));
}

#[test]
fn request_of_a_route_counts_as_a_call_of_its_function() {
    let app = app();
    let server = app.serve();
    send(&app, &server, "GET", "/nothing", &[], "");
    send(&app, &server, "GET", "/fails/forbidden", &[], "");
    let calls = |path: &str| app.runtime().totals().of(app.runtime().registry().get(path).unwrap()).calls();
    assert_eq!((calls("shop/nothing"), calls("shop/fails")), (1, 1));
}

//! Tries, their times, and what ends them.

use std::time::Duration;

use convoke::testing::TestApp;
use convoke::webhooks::{DeliveryState, EndpointState};
use convoke_calls::webhooks::Endpoint;
use serde_json::{Value, json};

use super::receiver::{Receiver, answer};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An app whose webhooks may reach this machine.
pub(super) fn app() -> TestApp {
    TestApp::configured("[webhooks]\nallow = [\"127.0.0.0/8\"]\n")
}

/// Adds an endpoint. Returns its id and its secret.
pub(super) fn add(app: &TestApp, url: &str, events: &[&str], owner: Option<&str>) -> (String, String) {
    let args = json!({ "url": url, "events": events, "owner": owner });
    let made = app.nobody().call("webhooks/functions/add", args).value().clone();
    (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

pub(super) fn send(app: &TestApp, event: &str, n: i64) {
    let reply = app.nobody().call("webhooks/functions/send", json!({ "event": event, "n": n }));
    assert!(reply.is_success(), "{}", reply.message());
}

fn endpoint(app: &TestApp, id: &str) -> convoke::Doc<Endpoint> {
    app.read(|db| Ok(db.get(id.parse().unwrap())?.unwrap()))
}

#[test]
fn event_is_signed_and_delivered_once() {
    let (app, receiver) = (app(), Receiver::accepting());
    let (_, secret) = add(&app, &receiver.url, &["order.paid"], None);
    send(&app, "order.paid", 7);
    send(&app, "order.lost", 8);
    assert!(receiver.arrived().is_empty(), "the request waits for the commit");
    assert_eq!(app.run_due(), 1);
    let arrived = receiver.arrived();
    let [request] = &arrived[..] else { panic!("{arrived:?}") };
    assert_eq!(request.body, r#"{"type":"order.paid","timestamp":"2026-01-01T00:00:00.000Z","data":{"n":7}}"#);
    assert_eq!(request.header("content-type"), "application/json");
    assert!(request.header("webhook-id").starts_with("msg_"));
    assert_eq!(request.header("webhook-timestamp"), "1767225600");
    assert!(request.is_signed_by(&secret));
    assert!(!request.is_signed_by("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    let deliveries = app.deliveries();
    assert_eq!(deliveries.len(), 1);
    assert!(deliveries[0].state == DeliveryState::Delivered && deliveries[0].answer.as_deref() == Some("ok"));
    assert_eq!(app.run_due(), 0);
}

#[test]
fn rolled_back_mutation_delivers_nothing() {
    let (app, receiver) = (app(), Receiver::accepting());
    add(&app, &receiver.url, &[], None);
    let args = json!({ "event": "order.paid", "n": 1, "fail": true });
    assert_eq!(app.nobody().call("webhooks/functions/send", args).code(), "CONFLICT");
    assert_eq!(app.run_due(), 0);
    assert!(app.deliveries().is_empty() && receiver.arrived().is_empty());
}

#[test]
fn event_reaches_its_owner_and_the_operator_and_no_other_owner() {
    let (app, receivers) = (app(), [(); 4].map(|()| Receiver::accepting()));
    add(&app, &receivers[0].url, &[], None);
    add(&app, &receivers[1].url, &[], Some("acme"));
    let (other, _) = add(&app, &receivers[2].url, &[], Some("other"));
    let reply = app.nobody().call("webhooks/functions/send", json!({ "event": "order.paid", "n": 1, "owner": "acme" }));
    assert!(reply.is_success());
    app.run_due();
    assert_eq!(receivers.each_ref().map(|receiver| receiver.arrived().len()), [1, 1, 0, 0]);
    let ids = [0, 1].map(|index| receivers[index].arrived()[0].header("webhook-id").to_owned());
    assert_eq!(ids[0], ids[1], "an event has one id");
    let stolen = json!({ "id": other, "owner": "acme", "enabled": false });
    assert_eq!(app.nobody().call("webhooks/functions/switch", stolen).code(), "NOT_FOUND");
}

#[test]
fn failed_tries_follow_the_schedule_with_one_id_and_then_give_up() {
    let (app, receiver) = (app(), Receiver::new(|_| answer(500, "", "broken")));
    add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    let mut pauses = Vec::new();
    while let [delivery] = &app.deliveries()[..]
        && delivery.state == DeliveryState::Pending
    {
        assert_eq!((delivery.status, delivery.answer.as_deref()), (Some(500), Some("broken")));
        let pause = delivery.due_at.since(app.now());
        app.advance(pause - Duration::from_millis(1));
        assert_eq!(receiver.arrived().len(), pauses.len() + 1, "not before its time");
        app.advance(Duration::from_millis(1));
        pauses.push(pause.as_secs_f64());
    }
    let hour = 3_600.0;
    let planned = [5.0, 300.0, 1_800.0, 2.0 * hour, 5.0 * hour, 10.0 * hour, 14.0 * hour, 20.0 * hour, 24.0 * hour];
    assert_eq!(pauses.len(), planned.len());
    for (pause, planned) in pauses.iter().zip(planned) {
        assert!((planned..=planned * 1.1).contains(pause), "{pause} for {planned}");
    }
    let arrived = receiver.arrived();
    assert_eq!(arrived.len(), 10);
    assert!(arrived.iter().all(|request| request.header("webhook-id") == arrived[0].header("webhook-id")));
    assert!(app.deliveries()[0].state == DeliveryState::Failed);
}

#[test]
fn endpoint_is_disabled_by_410_and_its_other_deliveries_wait_until_it_is_enabled() {
    let receiver = Receiver::new(|number| answer(if number == 0 { 410 } else { 200 }, "", ""));
    let app = app();
    let (id, _) = add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    send(&app, "order.paid", 2);
    app.run_due();
    assert_eq!(receiver.arrived().len(), 1);
    let disabled = endpoint(&app, &id);
    assert!(disabled.state == EndpointState::Disabled);
    assert_eq!(disabled.disabled_reason.as_deref(), Some("the endpoint responded with 410 Gone"));
    send(&app, "order.paid", 3);
    assert_eq!(app.deliveries().len(), 2, "a disabled endpoint gets no new deliveries");
    app.advance(DAY);
    assert_eq!(receiver.arrived().len(), 1);
    app.nobody().call("webhooks/functions/switch", json!({ "id": id, "enabled": true }));
    app.run_due();
    let states: Vec<_> = app.deliveries().iter().map(|row| row.state.as_str()).collect();
    assert_eq!(states, ["failed", "delivered"]);
}

#[test]
fn endpoint_is_disabled_after_five_days_of_failures_and_not_before() {
    let (app, receiver) = (app(), Receiver::new(|_| answer(503, "", "")));
    let (id, _) = add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.advance(2 * DAY);
    send(&app, "order.paid", 2);
    app.advance(3 * DAY - Duration::from_secs(1));
    assert!(endpoint(&app, &id).state == EndpointState::Enabled);
    app.advance(DAY);
    assert!(endpoint(&app, &id).state == EndpointState::Disabled);
    assert_eq!(endpoint(&app, &id).disabled_reason.as_deref(), Some("all tries of 5 days failed"));
    app.deliveries();
}

#[test]
fn success_ends_the_count_of_failing_days() {
    let (app, receiver) = (app(), Receiver::new(|number| answer(if number == 1 { 200 } else { 500 }, "", "")));
    let (id, _) = add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    assert_eq!(endpoint(&app, &id).failing_since, Some(app.now()));
    app.advance(Duration::from_secs(6));
    assert_eq!(endpoint(&app, &id).failing_since, None);
}

#[test]
fn retry_after_delays_the_next_try_in_seconds_and_as_a_date() {
    let receiver = Receiver::new(|number| match number {
        0 => answer(429, "retry-after: 60\r\n", ""),
        1 => answer(503, "retry-after: Thu, 01 Jan 2026 02:00:00 GMT\r\n", ""),
        2 => answer(429, "retry-after: 99999999\r\n", ""),
        _ => answer(200, "", ""),
    });
    let app = app();
    add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.advance(Duration::from_secs(59));
    assert_eq!(receiver.arrived().len(), 1);
    app.advance(Duration::from_secs(1));
    assert_eq!(receiver.arrived().len(), 2);
    app.advance(Duration::from_secs(2 * 3_600 - 61));
    assert_eq!(receiver.arrived().len(), 2);
    app.advance(Duration::from_secs(1));
    assert_eq!(receiver.arrived().len(), 3);
    app.advance(DAY);
    assert_eq!(receiver.arrived().len(), 4, "a wait is at most a day");
}

#[test]
fn redirect_is_a_failure_and_is_not_followed() {
    let target = Receiver::accepting();
    let to = target.url.clone();
    let receiver = Receiver::new(move |_| answer(302, &format!("location: {to}\r\n"), ""));
    let app = app();
    add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    assert!(target.arrived().is_empty());
    let error = app.deliveries()[0].error.clone().unwrap();
    assert!(error.contains("302") && error.contains("redirects are not followed"), "{error}");
}

#[test]
fn long_answer_is_cut_and_a_broken_connection_is_a_failure() {
    let receiver = Receiver::new(|number| match number {
        0 => String::new(),
        _ => answer(200, "", &"é\0".repeat(2_000)),
    });
    let app = app();
    add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    let failed = &app.deliveries()[0];
    assert!(failed.status.is_none() && failed.error.is_some(), "{:?}", failed.error);
    app.advance(Duration::from_secs(6));
    let answer = app.deliveries()[0].answer.clone().unwrap();
    assert!(answer.len() <= 1_024 && answer.starts_with('é') && !answer.contains('\0'), "{answer}");
}

#[test]
fn both_secrets_sign_while_they_overlap() {
    let (app, receiver) = (app(), Receiver::accepting());
    let (id, first) = add(&app, &receiver.url, &[], None);
    let rotated = app.nobody().call("webhooks/functions/rotate", json!({ "id": id }));
    let second = rotated.value()["secret"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    send(&app, "order.paid", 1);
    app.advance(Duration::from_secs(3_600));
    send(&app, "order.paid", 2);
    app.run_due();
    let signed: Vec<_> = receiver
        .arrived()
        .iter()
        .map(|request| [request.is_signed_by(&first), request.is_signed_by(&second)])
        .collect();
    assert_eq!(signed, [[true, true], [false, true]]);
}

#[test]
fn secret_of_an_endpoint_survives_a_restart_and_is_not_in_the_database() {
    let (mut app, receiver) = (app(), Receiver::accepting());
    let (id, secret) = add(&app, &receiver.url, &[], None);
    let row = endpoint(&app, &id);
    let stored = serde_json::to_string(&row.secrets).unwrap();
    assert!(!stored.contains(secret.strip_prefix("whsec_").unwrap()), "{stored}");
    app.restart();
    send(&app, "order.paid", 1);
    app.run_due();
    assert!(receiver.arrived()[0].is_signed_by(&secret));
}

#[test]
fn clock_that_was_set_back_delays_no_delivery() {
    let (app, receiver) = (app(), Receiver::new(|number| answer(if number == 0 { 500 } else { 200 }, "", "")));
    add(&app, &receiver.url, &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    app.clock().set(app.now() - DAY);
    app.run_due();
    assert_eq!(receiver.arrived().len(), 2);
}

#[test]
fn old_and_excess_deliveries_are_removed() {
    let app = TestApp::configured("[webhooks]\nallow = [\"127.0.0.0/8\"]\ndeliveries_max = 3\ndays_max = 2\n");
    let receiver = Receiver::accepting();
    add(&app, &receiver.url, &[], None);
    for n in 0..5 {
        send(&app, "order.paid", n);
    }
    app.run_due();
    app.block_on(app.runtime().deliverer().remove_expired()).unwrap();
    let left: Vec<Value> = app.deliveries().iter().map(|row| serde_json::from_str(&row.body).unwrap()).collect();
    assert_eq!(left.iter().map(|body| body["data"]["n"].as_i64().unwrap()).collect::<Vec<_>>(), [2, 3, 4]);
    app.advance(3 * DAY);
    app.block_on(app.runtime().deliverer().remove_expired()).unwrap();
    assert!(app.deliveries().is_empty());
}

#[test]
#[should_panic(expected = "webhooks were not delivered")]
fn test_that_leaves_a_due_delivery_unread_fails() {
    let app = app();
    add(&app, "https://a.example/", &[], None);
    send(&app, "order.paid", 1);
}

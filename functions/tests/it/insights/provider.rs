//! Insights from a language model, and the fallback without its response.

use std::time::Duration;

use convoke::Code;
use convoke::testing::TestApp;
use schema::Insight;
use serde_json::json;

use super::service::{Service, completion, good, slow, status};
use super::{GENERATE, counted, end, force, gathering, generate, own, say, write};
use crate::support::{create, emails, id_of, meeting, secret};

/// An app that uses this service.
fn asking(service: &Service, more: &str) -> TestApp {
    let table = format!("[insights]\nbase_url = {:?}\nmodel = \"m1\"\n{more}\n", service.url);
    TestApp::with(|options| {
        options.settings = table.parse().unwrap();
        secret(options, "INSIGHTS_API_KEY", "the-key");
    })
}

/// A meeting of ada alone, with notes.
fn alone(app: &TestApp) -> String {
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    write(&ada, &id, "- [ ] Ada: write to the vendor, see https://example.org/plan\n");
    id
}

#[test]
fn a_good_answer_is_kept_with_the_meetings_own_links_only() {
    let service = Service::new(vec![good("They planned.")]);
    let app = asking(&service, "fallback = false");
    let ada = app.user("ada");
    let id = alone(&app);
    let (made, ids) = counted(&generate(&ada, &id));
    let insight = own(&ada, &id);
    assert_eq!((made, &insight["_id"]), (1, &json!(ids[0])));
    assert_eq!((&insight["summary"], &insight["generator"]), (&json!("They planned."), &json!("openai/m1")));
    assert_eq!(insight["recommendations"][0]["confidence"], 0.75);
    assert_eq!(insight["links"].as_array().unwrap().len(), 1, "{insight}");
    assert_eq!(insight["links"][0]["url"], "https://example.org/plan");
    let (head, body) = service.asked().remove(0);
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(
        head.contains("authorization: bearer the-key") && head.contains("content-type: application/json"),
        "{head}"
    );
    assert_eq!((&body["model"], &body["response_format"]["type"]), (&json!("m1"), &json!("json_schema")));
    assert_eq!(counted(&generate(&ada, &id)), (0, ids));
    assert_eq!(service.count(), 1, "what is up to date is not asked for");
}

#[test]
fn active_meeting_calls_the_provider_for_joined_participants_only() {
    let service = Service::new(vec![good("They planned.")]);
    let app = asking(&service, "");
    let id = gathering(&app);
    say(&app.user("ada"), &id, 10, "I will write the plan.");
    assert_eq!(counted(&generate(&app.user("ada"), &id)).0, 3);
    assert_eq!(service.count(), 2);
    let of_bob = own(&app.user("bob"), &id);
    assert_eq!(of_bob["generator"], "openai/m1");
    assert_eq!(of_bob["actionItems"], json!(["ada: write the plan"]), "what nobody said is left out");
    assert_eq!(own(&app.user("carol"), &id)["generator"], "builtin/7");
    end(&app, &id);
    app.advance(Duration::from_secs(30));
    assert_eq!(own(&app.user("carol"), &id)["generator"], "openai/m1");
    assert_eq!(service.count(), 3, "the others' were made from the same");
}

#[test]
fn unusable_response_is_retried_as_json_before_the_builtin_fallback() {
    let service = Service::new(vec![completion("Sorry, I would rather not.")]);
    let app = asking(&service, "");
    let ada = app.user("ada");
    let id = alone(&app);
    assert_eq!(counted(&generate(&ada, &id)).0, 1);
    let forms: Vec<_> = service.asked().iter().map(|(_, body)| body["response_format"]["type"].clone()).collect();
    assert_eq!(forms, ["json_schema", "json_object"]);
    let insight = own(&ada, &id);
    assert_eq!(insight["generator"], "builtin/7");
    assert!(insight["actionItems"][0].as_str().unwrap().contains("write to the vendor"), "{insight}");
}

#[test]
fn failing_provider_without_fallback_returns_an_error_and_writes_nothing() {
    let service = Service::new(vec![completion("{}"), completion("{}"), status(401, ""), good("Now.")]);
    let app = asking(&service, "fallback = false");
    let ada = app.user("ada");
    let id = alone(&app);
    for _ in 0..2 {
        generate(&ada, &id).assert_refused(Code::ProviderError, "The insight provider failed");
        assert_eq!(app.count::<Insight>(), 0);
    }
    assert_eq!(counted(&generate(&ada, &id)).0, 1, "a repeated call repairs it");
    assert_eq!(own(&ada, &id)["summary"], "Now.");
}

#[test]
fn busy_provider_is_retried_after_its_retry_after() {
    let service = Service::new(vec![status(429, "retry-after: 1\r\n"), good("Late.")]);
    let app = asking(&service, "fallback = false");
    let id = alone(&app);
    let began = tokio::time::Instant::now();
    assert_eq!(counted(&generate(&app.user("ada"), &id)).0, 1);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((own(&app.user("ada"), &id)["summary"].clone(), service.count()), (json!("Late."), 2));
}

#[test]
fn a_silent_provider_is_a_timeout_only_without_fallback() {
    let silent = || Service::new(vec![slow(good("Too late."), Duration::from_secs(20))]);
    for (fallback, summary) in [("fallback = false", None), ("", Some("builtin/7"))] {
        let service = silent();
        let app = asking(&service, &format!("timeout_s = 1\n{fallback}"));
        let ada = app.user("ada");
        let id = alone(&app);
        let reply = generate(&ada, &id);
        match summary {
            None => reply.assert_refused(Code::Timeout, "The insight provider did not answer in time"),
            Some(generator) => assert_eq!(own(&ada, &id)["generator"], generator),
        }
        // It was requested twice more.
        service.require(3);
    }
}

#[test]
fn second_call_waits_for_the_result_of_the_first() {
    let service = Service::new(vec![slow(good("Once."), Duration::from_millis(700))]);
    let app = asking(&service, "fallback = false");
    let id = alone(&app);
    let ada = app.user("ada");
    let args = json!({"meetingId": id, "forceRegenerate": true});
    let calls = async { tokio::join!(ada.call_async(GENERATE, args.clone()), ada.call_async(GENERATE, args.clone())) };
    let (first, second) = app.block_on(calls);
    let (first, second) = (counted(&first), counted(&second));
    assert_eq!((first.0 + second.0, first.1 == second.1, service.count()), (1, true, 1));
}

#[test]
fn forced_call_returns_fallback_insights_and_next_call_replaces_them() {
    let service = Service::new(vec![status(401, ""), status(401, ""), good("At last.")]);
    let app = asking(&service, "");
    let ada = app.user("ada");
    let id = alone(&app);
    generate(&ada, &id).value();
    force(&ada, &id).value();
    assert_eq!(counted(&force(&ada, &id)).0, 0, "within a minute");
    assert_eq!((service.count(), own(&ada, &id)["generator"].clone()), (2, json!("builtin/7")));
    assert_eq!(counted(&generate(&ada, &id)).0, 1);
    assert_eq!(own(&ada, &id)["summary"], "At last.");
}

#[test]
fn every_participant_has_insights_before_the_model_is_called() {
    let service = Service::new(vec![slow(good("Later."), Duration::from_secs(2))]);
    let app = asking(&service, "");
    let id = gathering(&app);
    let ada = app.user("ada");
    say(&ada, &id, 10, "I will write the plan.");
    let meanwhile = async {
        while service.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        app.read(|db| Ok(db.scan::<Insight>().take(10)?))
    };

    let call = ada.call_async(GENERATE, json!({"meetingId": id}));
    let (reply, meanwhile) = app.block_on(async { tokio::join!(call, meanwhile) });

    let generators: Vec<_> = meanwhile.iter().map(|row| row.generator.as_str()).collect();
    assert_eq!(generators, ["builtin/7"; 3]);
    let (made, ids) = counted(&reply);
    assert_eq!(made, 3, "each reader counts once");
    assert!(meanwhile.iter().all(|row| ids.contains(&row.id().to_string())));
    assert_eq!(own(&ada, &id)["summary"], "Later.");
}

#[test]
fn unresponsive_provider_is_not_called_for_every_participant() {
    let service = Service::new(vec![slow(good("Too late."), Duration::from_secs(20))]);
    let app = asking(&service, "timeout_s = 1");
    let names = ["bob", "carol", "dan", "eve", "frank"];
    for name in names {
        id_of(&app.user(name));
    }
    let ada = app.user("ada");
    let id = create(&ada, json!({"participantEmails": emails(&names), "maxParticipants": 10}));
    for name in ["ada"].iter().chain(&names) {
        app.user(name).call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    }
    say(&ada, &id, 10, "I will write the plan.");

    assert_eq!(counted(&generate(&ada, &id)).0, 6);

    // For those of the first round, three times each.
    service.require(4 * 3);
    for name in names {
        assert_eq!(own(&app.user(name), &id)["generator"], "builtin/7");
    }
    // The substitute is not current: the next call requests the model again.
    assert_eq!(counted(&generate(&ada, &id)).0, 6);
    service.require(2 * 4 * 3);
}

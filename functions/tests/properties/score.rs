//! Scores and hard conditions of random pairs of people.

use std::collections::BTreeSet;

use functions::matching::candidate::{Interest, Person, Window, candidates};
use functions::matching::conditions::{Obstacle, Rules, Side, Standing, judge};
use functions::matching::explain::explain;
use functions::matching::score::{Features, Weights, features, score};
use proptest::prelude::*;

const HOUR: i64 = 3_600_000;

fn some_of(words: &'static [&'static str], count: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(words).prop_map(str::to_owned), 0..count)
}

fn maybe(words: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::sample::select(words).prop_map(str::to_owned))
}

fn person() -> impl Strategy<Value = Person> {
    let texts = (
        maybe(&["I build databases in Rust", "Teacher of mathematics", "the and of", "Coffee, databases and chess"]),
        maybe(&["Find a mentor", "learn Rust", "invest in climate startups"]),
        maybe(&["junior", "Senior engineer", "12 years", "2 years", "CEO", "many"]),
        maybe(&["Software Engineering", "software-engineering", "Law", "Data Science", "Basket weaving"]),
        maybe(&["Engineer", "Lawyer"]),
        maybe(&["Acme", "ACME", "Other"]),
    );
    let lists = (
        some_of(&["rust", "ai-ml", "chess", "art", "law"], 4),
        some_of(&["en", "EN", "de", "fr"], 3),
        some_of(&["AI", "rust", "music"], 3),
        some_of(&["mentor", "mentee", "founder", "investor", "technical", "business"], 3),
        maybe(&["any", "same", "different", "Acme", "org-1"]),
    );
    let organization = prop::option::of((
        prop::sample::select(&["https://a", "https://b"][..]),
        prop::sample::select(&["org-1", "org-2"][..]),
    ));
    let window = prop::option::of((0..6i64, 0..6i64, 1..5i64).prop_map(|(from, shift, length)| {
        let from = from * HOUR / 4 + shift;
        Window { from, to: from + length * HOUR / 8 }
    }));
    (texts, lists, organization, window).prop_map(|(texts, lists, organization, window)| Person {
        interests: lists.0.into_iter().map(|key| Interest { label: key.replace('-', " "), key }).collect(),
        bio: texts.0,
        goals: texts.1,
        experience: texts.2,
        field: texts.3,
        job_title: texts.4,
        company: texts.5,
        languages: lists.1,
        organization: organization.map(|(issuer, id)| (issuer.to_owned(), id.to_owned())),
        window,
        wanted_interests: lists.2,
        roles: lists.3,
        organization_wish: lists.4,
    })
}

fn standing(user: u8) -> impl Strategy<Value = Standing<u8>> {
    (prop::bool::weighted(0.9), prop::bool::weighted(0.9), prop::bool::weighted(0.1))
        .prop_map(move |(waiting, active, in_open_match)| Standing { user, waiting, active, in_open_match })
}

fn values() -> impl Strategy<Value = [f64; 8]> {
    prop::array::uniform8(0.0..=1.0f64)
}

fn of(values: [f64; 8]) -> Features {
    let [interest_overlap, experience_gap, industry_match, timezone_compatibility, rest @ ..] = values;
    let [vector_similarity, org_constraint_match, language_overlap, role_complementarity] = rest;
    Features {
        interest_overlap,
        experience_gap,
        industry_match,
        timezone_compatibility,
        vector_similarity,
        org_constraint_match,
        language_overlap,
        role_complementarity,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_pair_is_judged_alike_from_both_sides(
        people in prop::collection::vec(person(), 2..5), now in 0..3 * HOUR,
        standings in (standing(1), standing(2)), declined_at in prop::option::of(-60 * 24 * HOUR..HOUR)
    ) {
        let ready = candidates(&people);
        let one = Side { standing: &standings.0, candidate: &ready[0] };
        let other = Side { standing: &standings.1, candidate: &ready[1] };
        let rules = Rules { score_min: 0.0, ..Rules::default() };

        let here = features(&ready[0], &ready[1], now);
        let there = features(&ready[1], &ready[0], now);

        prop_assert_eq!(here, there);
        prop_assert_eq!(score(&here, &Weights::default()).to_bits(), score(&there, &Weights::default()).to_bits());
        prop_assert!(here.named().iter().all(|(_, value)| (0.0..=1.0).contains(value)), "{:?}", here);
        prop_assert_eq!(explain(&here), explain(&there));
        // Which obstacle of several is named first may differ, whether there is one may not.
        let judged = judge(one, other, declined_at, now, &rules);
        prop_assert_eq!(judged.is_ok(), judge(other, one, declined_at, now, &rules).is_ok());
        prop_assert_eq!(judged.ok().map(|judged| judged.features), judged.ok().map(|_| here));
    }

    #[test]
    fn more_of_a_feature_is_never_a_lower_score(values in values(), which in 0..8usize, more in 0.0..=1.0f64) {
        let mut raised = values;
        raised[which] += (1.0 - raised[which]) * more;
        let weights = Weights::default();

        prop_assert!(score(&of(raised), &weights) >= score(&of(values), &weights));
        prop_assert!((0.0..=1.0).contains(&score(&of(values), &weights)));
    }

    #[test]
    fn no_score_overcomes_a_hard_condition(
        pair in (person(), person()), now in 0..3 * HOUR, standings in (standing(1), standing(2)),
        declined_at in prop::option::of(-60 * 24 * HOUR..HOUR)
    ) {
        let ready = candidates(&[pair.0.clone(), pair.1.clone()]);
        let one = Side { standing: &standings.0, candidate: &ready[0] };
        let other = Side { standing: &standings.1, candidate: &ready[1] };

        let judged = judge(one, other, declined_at, now, &Rules::default());
        // With no bound on the score, only the other conditions are left to refuse.
        let unbounded = judge(one, other, declined_at, now, &Rules { score_min: 0.0, ..Rules::default() });

        let stands = |standing: &Standing<u8>| standing.waiting && standing.active && !standing.in_open_match;
        let may = stands(&standings.0)
            && stands(&standings.1)
            && declined_at.is_none_or(|at| now - at >= 30 * 24 * HOUR)
            && meet(pair.0.window, pair.1.window, now)
            && !contradicts(&pair.0, &pair.1)
            && !contradicts(&pair.1, &pair.0);
        prop_assert_eq!(unbounded.is_ok(), may);
        // The same bound as the matcher's: windows of milliseconds bring scores that miss it by less than a millionth.
        let enough = unbounded.is_ok_and(|judged| judged.score + 1e-9 >= Rules::default().score_min);
        prop_assert_eq!(judged.is_ok(), enough);
        if may && !enough {
            prop_assert_eq!(judged.err(), Some(Obstacle::ScoreTooLow));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_profile_without_interests_never_scores_above_one_that_shares_some(
        one in person(), other in person(), now in 0..3 * HOUR
    ) {
        let emptied = |person: &Person| Person { interests: Vec::new(), ..person.clone() };
        let value = |a: &Person, b: &Person| {
            let ready = candidates(&[a.clone(), b.clone()]);
            features(&ready[0], &ready[1], now).interest_overlap
        };
        let keys = |person: &Person| -> BTreeSet<String> { person.interests.iter().map(|one| one.key.clone()).collect() };
        let (ours, theirs) = (keys(&one), keys(&other));
        let filled = value(&one, &other);
        let unknown = [value(&one, &emptied(&other)), value(&emptied(&one), &other), value(&emptied(&one), &emptied(&other))];

        // If a user has no interests, only the wishes count.
        prop_assert!(unknown.iter().all(|value| value.to_bits() == unknown[0].to_bits()));
        if one.wanted_interests.is_empty() || other.wanted_interests.is_empty() {
            prop_assert_eq!(unknown[0], 0.5);
        }
        if ours.intersection(&theirs).next().is_some() {
            prop_assert!(filled >= unknown[0], "{} < {}", filled, unknown[0]);
        } else if !ours.is_empty() && !theirs.is_empty() {
            prop_assert!(filled <= unknown[0], "who shares nothing is not ahead of whom nothing is known of");
        }
    }

    #[test]
    fn additional_shared_interest_never_lowers_the_overlap(one in person(), other in person(), now in 0..3 * HOUR) {
        let more = |person: &Person| {
            let mut person = person.clone();
            person.interests.push(Interest { key: "shared".to_owned(), label: "Shared".to_owned() });
            person
        };
        let value = |a: &Person, b: &Person| {
            let ready = candidates(&[a.clone(), b.clone()]);
            features(&ready[0], &ready[1], now).interest_overlap
        };
        prop_assert!(value(&more(&one), &more(&other)) >= value(&one, &other) - 1e-12);
    }

    #[test]
    fn company_text_does_not_affect_the_same_organization_wish(
        one in person(), other in person(), wish in prop::sample::select(&["same", "different", "any"][..]),
        company in maybe(&["Acme", "Other", "org-1"]), now in 0..3 * HOUR
    ) {
        let wishing = |person: &Person| Person { organization_wish: Some(wish.to_owned()), ..person.clone() };
        let elsewhere = Person { company, ..wishing(&other) };
        let value = |a: &Person, b: &Person| {
            let ready = candidates(&[a.clone(), b.clone()]);
            features(&ready[0], &ready[1], now).org_constraint_match
        };
        let found = value(&wishing(&one), &wishing(&other));
        prop_assert_eq!(found, value(&wishing(&one), &elsewhere));
        let is_known = one.organization.is_some() && other.organization.is_some();
        prop_assert_eq!(found == 0.5, wish != "any" && !is_known);
    }
}

/// The rule about windows, written again from its words.
fn meet(a: Option<Window>, b: Option<Window>, now: i64) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return false;
    };
    let common = a.to.min(b.to) - a.from.max(b.from).max(now);
    let shorter = (a.to - a.from.max(now)).min(b.to - b.from.max(now));
    common > 0 && (common >= 15 * 60_000 || common == shorter)
}

/// The rule about organizations, written again from its words: what `one` wishes is known not to be so.
fn contradicts(one: &Person, other: &Person) -> bool {
    let company = |person: &Person| person.company.as_ref().map(|company| company.to_lowercase());
    let same_organization = one.organization.as_ref().zip(other.organization.as_ref()).map(|(one, other)| one == other);
    match one.organization_wish.as_deref() {
        None | Some("any") => false,
        Some("same") => same_organization == Some(false),
        Some("different") => same_organization == Some(true),
        Some(name) => {
            let is_named = company(other) == Some(name.to_lowercase())
                || other.organization.as_ref().is_some_and(|(_, id)| id == name);
            !is_named && (other.company.is_some() || other.organization.is_some())
        }
    }
}

//! Wishes about the organization of the other user.
//!
//! A user has two organizations: the one of the identity provider, and the company in the profile. Only the first one
//! decides if two users are of the same organization, because users may write any company.

use super::names::fold;

/// A user's wish about the organization of the other user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Any,
    Same,
    Different,
    /// The other user's company or organization has this normalized name.
    Named(String),
}

/// The organizations of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belonging {
    /// Issuer and organization id of the identity. Ids of different issuers cannot be compared.
    pub organization: Option<(String, String)>,
    /// Company of the profile, normalized.
    pub company: Option<String>,
}

/// The result of a wish for one other user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    /// An organization that the wish depends on is unknown.
    Unknown,
    Fails,
}

impl Wish {
    /// Parses `orgConstraints`, ignoring case and dashes. None and "" mean no wish.
    pub fn parse(text: Option<&str>) -> Wish {
        let name = fold(text.unwrap_or_default());
        match name.replace(' ', "").as_str() {
            "" | "any" | "none" => Wish::Any,
            "same" | "sameorg" => Wish::Same,
            "different" | "differentorg" | "external" => Wish::Different,
            _ => Wish::Named(name),
        }
    }

    /// Evaluates the wish of a user of `own` about a user of `other`.
    pub fn verdict(&self, own: &Belonging, other: &Belonging) -> Verdict {
        match self {
            Wish::Any => Verdict::Holds,
            Wish::Same => same(own, other),
            Wish::Different => match same(own, other) {
                Verdict::Holds => Verdict::Fails,
                Verdict::Unknown => Verdict::Unknown,
                Verdict::Fails => Verdict::Holds,
            },
            Wish::Named(name) => named(name, other),
        }
    }
}

/// Evaluates two wishes about each other. Equal wishes do not count as agreement: each is checked separately.
pub fn both(a: (&Wish, &Belonging), b: (&Wish, &Belonging)) -> Verdict {
    match (a.0.verdict(a.1, b.1), b.0.verdict(b.1, a.1)) {
        (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
        (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
    }
}

/// Returns the value of the feature `orgConstraintMatch`.
pub fn organization_value(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Holds => 1.0,
        Verdict::Unknown => 0.5,
        Verdict::Fails => 0.0,
    }
}

/// Returns if two users are of the same organization, as far as their organizations are known.
fn same(a: &Belonging, b: &Belonging) -> Verdict {
    match (&a.organization, &b.organization) {
        (Some(a), Some(b)) if a == b => Verdict::Holds,
        (Some(_), Some(_)) => Verdict::Fails,
        (None, _) | (_, None) => Verdict::Unknown,
    }
}

fn named(name: &str, other: &Belonging) -> Verdict {
    let organization = other.organization.as_ref().map(|(_, id)| fold(id));
    if organization.as_deref() == Some(name) || other.company.as_deref() == Some(name) {
        Verdict::Holds
    } else if organization.is_none() && other.company.is_none() {
        Verdict::Unknown
    } else {
        Verdict::Fails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(company: &str) -> Belonging {
        Belonging { organization: None, company: Some(fold(company)) }
    }

    fn in_organization(issuer: &str, id: &str) -> Belonging {
        Belonging { organization: Some((issuer.into(), id.into())), company: None }
    }

    #[test]
    fn the_words_of_a_wish_are_read_without_regard_to_case_and_dashes() {
        for (text, wish) in [
            ("", Wish::Any),
            ("None", Wish::Any),
            ("SAME", Wish::Same),
            ("same-org", Wish::Same),
            ("different_org", Wish::Different),
            ("External", Wish::Different),
            ("Acme-Corp", Wish::Named("acme corp".into())),
        ] {
            assert_eq!(Wish::parse(Some(text)), wish, "{text}");
        }
        assert_eq!(Wish::parse(None), Wish::Any);
    }

    #[test]
    fn two_equal_wishes_are_held_to_the_organizations() {
        let same = |a: &Belonging, b: &Belonging| both((&Wish::Same, a), (&Wish::Same, b));

        let acme = in_organization("https://a", "acme");
        assert_eq!(same(&acme, &acme), Verdict::Holds);
        assert_eq!(same(&acme, &in_organization("https://a", "other")), Verdict::Fails);
        assert_eq!(same(&acme, &Belonging::default()), Verdict::Unknown);
    }

    #[test]
    fn a_company_that_a_user_wrote_down_makes_neither_the_same_organization_nor_another_one() {
        for other in ["Acme", "Other"] {
            assert_eq!(Wish::Same.verdict(&of("Acme"), &of(other)), Verdict::Unknown);
            assert_eq!(Wish::Different.verdict(&of("Acme"), &of(other)), Verdict::Unknown);
        }
        let (here, there) = (in_organization("https://a", "1"), in_organization("https://a", "2"));
        let at = |company: &str, of: &Belonging| Belonging { company: Some(fold(company)), ..of.clone() };
        assert_eq!(Wish::Same.verdict(&at("Acme", &here), &at("Acme", &there)), Verdict::Fails);
        assert_eq!(Wish::Different.verdict(&at("Acme", &here), &at("Other", &here)), Verdict::Fails);
    }

    #[test]
    fn failed_wish_outweighs_a_wish_that_cannot_be_evaluated() {
        let named = Wish::Named("other".into());
        let unknown = Belonging::default();

        let acme = Belonging { company: Some(fold("Acme")), ..in_organization("https://a", "1") };
        assert_eq!(both((&named, &unknown), (&Wish::Same, &acme)), Verdict::Fails);
        assert_eq!(both((&Wish::Any, &unknown), (&Wish::Same, &acme)), Verdict::Unknown);
    }

    #[test]
    fn organization_ids_of_two_issuers_are_two_organizations() {
        let here = in_organization("https://a", "1");

        assert_eq!(Wish::Same.verdict(&here, &in_organization("https://a", "1")), Verdict::Holds);
        assert_eq!(Wish::Same.verdict(&here, &in_organization("https://b", "1")), Verdict::Fails);
        assert_eq!(Wish::Different.verdict(&here, &in_organization("https://b", "1")), Verdict::Holds);
    }

    #[test]
    fn a_named_organization_is_the_company_or_the_organization() {
        let wish = Wish::parse(Some("Acme Corp"));

        assert_eq!(wish.verdict(&Belonging::default(), &of("acme-corp")), Verdict::Holds);
        assert_eq!(wish.verdict(&Belonging::default(), &in_organization("https://a", "ACME-CORP")), Verdict::Holds);
        assert_eq!(wish.verdict(&Belonging::default(), &of("Other")), Verdict::Fails);
        assert_eq!(wish.verdict(&Belonging::default(), &Belonging::default()), Verdict::Unknown);
    }
}

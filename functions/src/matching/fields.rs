//! Related fields of work: groups of fields, recognized by words in the name of a field.

/// A group: normalized words and two-word names of its fields. A field may be in several groups ("fintech").
type Group = &'static [&'static str];

const TECHNOLOGY: Group = &[
    "software",
    "computer",
    "computing",
    "informatics",
    "it",
    "information technology",
    "data",
    "ai",
    "ml",
    "artificial intelligence",
    "machine learning",
    "cloud",
    "devops",
    "cybersecurity",
    "security",
    "programming",
    "web",
    "mobile",
    "saas",
    "tech",
    "technology",
    "fintech",
    "healthtech",
    "edtech",
    "hardware",
    "robotics",
    "semiconductors",
    "blockchain",
    "gaming",
    "games",
    "product management",
    "telecommunications",
    "internet",
];
const FINANCE: Group = &[
    "finance",
    "financial",
    "fintech",
    "banking",
    "bank",
    "insurance",
    "investment",
    "investing",
    "accounting",
    "audit",
    "trading",
    "economics",
    "private equity",
    "venture capital",
    "real estate",
    "wealth",
];
const HEALTH: Group = &[
    "health",
    "healthcare",
    "healthtech",
    "medicine",
    "medical",
    "biotech",
    "biotechnology",
    "pharma",
    "pharmaceuticals",
    "pharmaceutical",
    "nursing",
    "dentistry",
    "life sciences",
    "biology",
    "public health",
    "care",
];
const EDUCATION: Group = &[
    "education",
    "edtech",
    "teaching",
    "academia",
    "university",
    "school",
    "training",
    "research",
    "coaching",
    "linguistics",
    "history",
    "philosophy",
];
const SCIENCE: Group = &[
    "science",
    "sciences",
    "physics",
    "chemistry",
    "biology",
    "mathematics",
    "maths",
    "statistics",
    "data science",
    "research",
    "biotech",
    "biotechnology",
    "astronomy",
    "psychology",
];
const BUSINESS: Group = &[
    "business",
    "consulting",
    "management",
    "strategy",
    "operations",
    "human resources",
    "hr",
    "recruiting",
    "entrepreneurship",
    "startups",
    "product management",
    "project management",
    "administration",
];
const COMMERCE: Group = &[
    "marketing",
    "sales",
    "advertising",
    "e commerce",
    "ecommerce",
    "commerce",
    "retail",
    "customer success",
    "public relations",
    "communications",
    "branding",
    "hospitality",
    "tourism",
    "travel",
];
const CREATIVE: Group = &[
    "design",
    "ux",
    "ui",
    "ux research",
    "media",
    "film",
    "music",
    "art",
    "arts",
    "journalism",
    "writing",
    "photography",
    "publishing",
    "entertainment",
    "gaming",
    "games",
    "fashion",
    "architecture",
];
const INDUSTRY: Group = &[
    "manufacturing",
    "construction",
    "logistics",
    "supply chain",
    "automotive",
    "aerospace",
    "mechanical",
    "electrical",
    "civil engineering",
    "chemical",
    "materials",
    "robotics",
    "transport",
    "transportation",
    "hardware",
];
const ENVIRONMENT: Group = &[
    "energy",
    "climate",
    "climate tech",
    "sustainability",
    "environment",
    "environmental",
    "agriculture",
    "food",
    "renewables",
    "forestry",
    "water",
    "mining",
    "oil",
];
const PUBLIC: Group = &[
    "law",
    "legal",
    "government",
    "policy",
    "public sector",
    "politics",
    "nonprofit",
    "ngo",
    "charity",
    "defense",
    "public administration",
    "social work",
    "compliance",
];

const GROUPS: [Group; 11] =
    [TECHNOLOGY, FINANCE, HEALTH, EDUCATION, SCIENCE, BUSINESS, COMMERCE, CREATIVE, INDUSTRY, ENVIRONMENT, PUBLIC];

/// The groups of a field; empty for an unknown field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups(u16);

impl Groups {
    /// Returns the groups of a normalized field name.
    pub fn of(field: &str) -> Groups {
        let words: Vec<&str> =
            field.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let pairs: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        let names = |group: Group| {
            words.iter().any(|word| group.contains(word)) || pairs.iter().any(|pair| group.contains(&pair.as_str()))
        };
        let bits = GROUPS.iter().enumerate().filter(|(_, group)| names(group)).map(|(bit, _)| 1 << bit);
        Groups(bits.fold(0, |all, bit: u16| all | bit))
    }

    /// Returns true if both fields have a common group.
    pub fn meet(self, other: Groups) -> bool {
        self.0 & other.0 != 0
    }
}

/// Field and company of a user, normalized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub field: Option<String>,
    pub groups: Groups,
    pub company: Option<String>,
}

/// Returns the value of the feature `industryMatch`: the highest one that applies.
pub fn industry_value(a: &Work, b: &Work) -> f64 {
    let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
    if same(&a.field, &b.field) {
        1.0
    } else if same(&a.company, &b.company) {
        0.9
    } else if a.groups.meet(b.groups) {
        0.8
    } else if a.field.is_none() || b.field.is_none() {
        0.5
    } else {
        0.3
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::fold;
    use super::*;
    use crate::interests::catalog::{self, Entry};

    fn work(field: Option<&str>, company: Option<&str>) -> Work {
        let field = field.map(fold);
        Work { groups: field.as_deref().map(Groups::of).unwrap_or_default(), field, company: company.map(fold) }
    }

    #[test]
    fn the_highest_value_that_applies_counts() {
        let software = work(Some("Software Engineering"), Some("Acme"));

        assert_eq!(industry_value(&software, &work(Some("software-engineering"), None)), 1.0);
        assert_eq!(industry_value(&software, &work(Some("Law"), Some("ACME"))), 0.9);
        assert_eq!(industry_value(&software, &work(None, Some("ACME"))), 0.9);
        assert_eq!(industry_value(&software, &work(Some("Data science"), Some("Other"))), 0.8);
        assert_eq!(industry_value(&software, &work(None, None)), 0.5);
        assert_eq!(industry_value(&software, &work(Some("Law"), None)), 0.3);
        assert_eq!(industry_value(&work(None, None), &work(None, None)), 0.5);
    }

    #[test]
    fn a_field_between_two_groups_is_related_to_both() {
        let fintech = Groups::of("fintech");

        assert!(fintech.meet(Groups::of("banking")));
        assert!(fintech.meet(Groups::of("cloud computing")));
        assert!(!fintech.meet(Groups::of("nursing")));
        assert!(!Groups::of("underwater basket weaving").meet(Groups::of("underwater basket weaving")));
    }

    #[test]
    fn every_industry_of_the_catalog_has_a_group() {
        for Entry { key, .. } in catalog::entries().filter(|entry| entry.category == "industry") {
            assert_ne!(Groups::of(&fold(key)), Groups::default(), "{key}");
        }
    }
}

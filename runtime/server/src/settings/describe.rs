//! Every setting of the program in one tree: its name, what it means, and what holds unless it is set.
//!
//! Nothing is described here a second time. What a flag means stands at the flag, what a section's field means at the
//! field, what bounds a limit at the limit.

use clap::Args as _;
use serde_json::Value as Json;

use super::sources::{EnvironmentFlag, File, Flags};
use convoke_core::limits::Limits;
use convoke_core::rate_class::RateClass;
use convoke_core::section::{SubmittedSection, schema_of};

/// A table of `convoke.toml`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Where it stands, e.g. `auth.providers`; empty for the file's beginning.
    pub path: String,
    /// What it is about.
    pub doc: String,
    /// Whether there may be several: `[[auth.providers]]`.
    pub many: bool,
    /// Whether it must hold something if it is there at all.
    pub needs_something: bool,
    /// Its settings.
    pub settings: Vec<Setting>,
    /// The tables within it.
    pub tables: Vec<Table>,
}

/// One setting.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Its name within its table.
    pub name: String,
    /// Another spelling that is read.
    pub alias: Option<&'static str>,
    /// What it means, with its unit.
    pub doc: String,
    /// What holds unless it is set; nothing, if it is off then.
    pub default: Option<toml::Value>,
    /// A value that could be set.
    pub example: Option<toml::Value>,
    /// All values there are, if they can be counted.
    pub choices: Vec<String>,
    /// The flag that sets it, e.g. `--listen`.
    pub flag: Option<String>,
    /// The environment variable that sets it, e.g. `CONVOKE_LISTEN`.
    pub variable: Option<String>,
}

/// All settings of this program: the runtime's, and those of the application that is linked with it.
pub fn describe() -> Table {
    let mut root = from_schema("", &schema_of::<File>(), None);
    let flags = flags();
    // In the order of the flags, which is from what is decided first to what is decided last.
    root.settings.sort_by_key(|setting| {
        let flag = flag_of(setting, None);
        flags.get_arguments().position(|argument| argument.get_id() == flag.as_str())
    });
    for setting in &mut root.settings {
        take_from_flag(setting, &flags, None);
    }
    for table in &mut root.tables {
        let path = table.path.clone();
        for setting in &mut table.settings {
            take_from_flag(setting, &flags, Some(&path));
        }
    }
    root.tables.push(limits());
    root.tables.push(rates());
    let mut sections: Vec<&SubmittedSection> = inventory::iter::<SubmittedSection>().collect();
    sections.sort_unstable_by_key(|section| section.name);
    root.tables.extend(sections.iter().map(|section| from_schema(section.name, &(section.schema)(), None)));
    root
}

impl Table {
    /// The path of what stands in it under `name`.
    pub fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The setting of this name.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name || setting.alias == Some(name))
    }

    /// The table of this name directly within it.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.path.rsplit('.').next() == Some(name))
    }
}

fn limits() -> Table {
    let setting = |(name, default, doc): (&str, toml::Value, &str)| Setting {
        name: name.to_owned(),
        doc: doc.to_owned(),
        default: Some(default),
        ..Setting::default()
    };
    Table {
        path: "limits".to_owned(),
        doc: "The bounds within which the runtime works.".to_owned(),
        settings: Limits::reference().into_iter().map(setting).collect(),
        ..Table::default()
    }
}

fn rates() -> Table {
    let setting = |class: &RateClass| Setting {
        name: class.name.to_owned(),
        doc: format!("{} Calls in {} s.", class.doc.trim(), class.per.as_secs()).trim_start().to_owned(),
        default: Some(i64::from(class.calls).into()),
        ..Setting::default()
    };
    Table {
        path: "rates".to_owned(),
        doc: "Calls that one user may make, by class; 0 = no limit. Who has used them up is answered RATE_LIMITED."
            .to_owned(),
        settings: RateClass::all().iter().map(setting).collect(),
        ..Table::default()
    }
}

/// The description of a table whose values are read by a type with this schema. `defaults` are those that the table
/// has as a whole.
fn from_schema(path: &str, schema: &Json, defaults: Option<&Json>) -> Table {
    let text = |value: &Json| value.get("description").and_then(Json::as_str).map(one_line).unwrap_or_default();
    let required = |name: &str| {
        schema.get("required").and_then(Json::as_array).is_some_and(|required| required.iter().any(|one| one == name))
    };
    let mut table = Table { path: path.to_owned(), doc: text(schema), ..Table::default() };
    let mut properties: Vec<_> = schema.get("properties").and_then(Json::as_object).into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| !required(name));
    for (name, property) in properties {
        let default = property.get("default").or_else(|| defaults?.get(name)).filter(|default| !default.is_null());
        table.needs_something |= required(name);
        if let Some((inner, many)) = as_table(property) {
            let mut inner = Table { many, ..from_schema(&table.path_of(name), inner, default) };
            if !text(property).is_empty() {
                inner.doc = text(property);
            }
            table.tables.push(inner);
            continue;
        }
        table.settings.push(Setting {
            name: name.clone(),
            doc: text(property),
            default: default.and_then(to_toml),
            example: property.get("examples").and_then(|examples| examples.get(0)).and_then(to_toml),
            choices: choices(property),
            ..Setting::default()
        });
    }
    table
}

/// The schema of the table that a property is, and whether there may be several.
fn as_table(property: &Json) -> Option<(&Json, bool)> {
    let has_fields = |schema: &Json| schema.get("properties").is_some_and(Json::is_object);
    if has_fields(property) {
        return Some((property, false));
    }
    if let Some(items) = property.get("items").filter(|items| has_fields(items)) {
        return Some((items, true));
    }
    // An optional table.
    let either = property.get("anyOf")?.as_array()?;
    either.iter().find(|schema| has_fields(schema)).map(|schema| (schema, false))
}

fn choices(property: &Json) -> Vec<String> {
    let listed = property.get("enum").and_then(Json::as_array).into_iter().flatten();
    let each = property.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let values = listed.map(Json::as_str).chain(each.map(|one| one.get("const")?.as_str()));
    // One alternative that is not a word, and they cannot be counted.
    values.map(|value| value.map(str::to_owned)).collect::<Option<_>>().unwrap_or_default()
}

fn flags() -> clap::Command {
    Flags::augment_args(EnvironmentFlag::augment_args(clap::Command::new("")))
}

/// Settings of the file whose flag has another name; the file reads that name too.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("environment", "env"),
    ("cors_origins", "cors_origin"),
    ("trusted_proxies", "trusted_proxy"),
    ("console_hosts", "console_host"),
];

/// The name, with underscores, of the flag that sets the same.
fn flag_of(setting: &Setting, table: Option<&str>) -> String {
    match table {
        Some(table) => format!("{table}_{}", setting.name),
        None => {
            let other = OTHER_NAMES.iter().find(|(name, _)| *name == setting.name);
            other.map_or(setting.name.as_str(), |(_, other)| other).to_owned()
        }
    }
}

/// What a setting of the file means is said by its flag: `log_lines` by `--log-lines`, `tls.cert` by `--tls-cert`.
fn take_from_flag(setting: &mut Setting, flags: &clap::Command, table: Option<&str>) {
    let name = flag_of(setting, table);
    if table.is_none() && name != setting.name {
        setting.alias = OTHER_NAMES.iter().find(|(name, _)| *name == setting.name).map(|(_, other)| *other);
    }
    let Some(flag) = flags.get_arguments().find(|argument| argument.get_id() == name.as_str()) else { return };
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let (doc, default) = match help.split_once(" [default: ") {
        Some((doc, default)) => (doc, default.split([']', ';']).next()),
        None => (help.as_str(), None),
    };
    setting.doc = doc.to_owned();
    // A truth is one in the file too.
    let read = |text: &str| text.parse::<bool>().map_or_else(|_| text.into(), toml::Value::from);
    setting.default = setting.default.take().or_else(|| default.map(read));
    setting.flag = flag.get_long().map(|long| format!("--{long}"));
    setting.variable = flag.get_env().map(|variable| variable.to_string_lossy().into_owned());
    setting.choices = flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
}

/// A doc comment's first paragraphs as running text; its examples in code are for readers of the source.
fn one_line(doc: &str) -> String {
    let prose = doc.split("```").step_by(2).collect::<String>();
    prose.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn to_toml(value: &Json) -> Option<toml::Value> {
    toml::Value::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(root: &Table, path: &str) -> Setting {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let table = table.split('.').filter(|part| !part.is_empty()).fold(root, |at, part| at.table(part).unwrap());
        table.setting(name).unwrap_or_else(|| panic!("no {path}")).clone()
    }

    #[test]
    fn a_setting_says_what_its_flag_says() {
        let root = describe();
        let listen = find(&root, "listen");
        assert_eq!(listen.doc, "Address to serve calls on; port 0 picks a free one");
        assert_eq!(listen.default, Some("127.0.0.1:3210".into()));
        assert_eq!((listen.flag.as_deref(), listen.variable.as_deref()), (Some("--listen"), Some("CONVOKE_LISTEN")));
        assert_eq!(find(&root, "env").name, "environment");
        assert_eq!(find(&root, "env").choices, ["development", "staging", "production"]);
        assert_eq!(find(&root, "cors_origin").flag.as_deref(), Some("--cors-origin"));
        assert_eq!(find(&root, "tls.cert").variable.as_deref(), Some("CONVOKE_TLS_CERT"));
    }

    #[test]
    fn every_flag_but_those_of_the_provider_and_the_file_itself_is_a_setting_of_the_file() {
        let root = describe();
        let all = root.settings.iter().chain(root.tables.iter().flat_map(|table| &table.settings));
        let known: Vec<String> = all.filter_map(|setting| setting.flag.clone()).collect();
        for flag in flags().get_arguments() {
            let long = format!("--{}", flag.get_long().unwrap());
            let elsewhere = long == "--config" || long.starts_with("--auth-");
            assert!(elsewhere || known.contains(&long), "{long}");
        }
    }

    #[test]
    fn every_setting_says_what_it_means() {
        fn look(table: &Table) {
            assert!(table.path.is_empty() || table.doc.len() > 10, "[{}]", table.path);
            for setting in &table.settings {
                assert!(setting.doc.len() > 5, "{}", table.path_of(&setting.name));
                let shown = setting.default.is_some() || setting.example.is_some();
                assert!(shown, "{} has neither a default nor an example", table.path_of(&setting.name));
            }
            table.tables.iter().for_each(look);
        }
        look(&describe());
    }

    #[test]
    fn a_provider_needs_something_and_its_claims_have_defaults() {
        let root = describe();
        let providers = root.table("auth").unwrap().table("providers").unwrap();
        assert!(providers.many && providers.needs_something);
        assert_eq!(find(&root, "auth.providers.claims.org_id").default, Some("org_id".into()));
        assert_eq!(find(&root, "auth.providers.keys").default, Some("discovery".into()));
        assert!(root.table("auth").unwrap().setting("environment").is_none());
    }
}

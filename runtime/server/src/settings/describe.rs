//! A tree of all settings of the program, with their names, descriptions and defaults.
//!
//! The descriptions are those of the flags, of the fields of sections, and of the limits. They are not repeated here.

use clap::Args as _;
use serde_json::Value as Json;

use super::sources::{EnvironmentFlag, File, Flags};
use convoke_core::limits::Limits;
use convoke_core::rate_classes::RateClass;
use convoke_core::sections::{SubmittedSection, schema_of};

/// A table of `convoke.toml`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its path, for example `auth.providers`; empty for the root.
    pub path: String,
    /// Its description.
    pub doc: String,
    /// True for an array of tables, such as `[[auth.providers]]`.
    pub many: bool,
    /// True if the table has required settings.
    pub has_required: bool,
    /// Its settings.
    pub settings: Vec<Setting>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// A setting.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Its name in the table.
    pub name: String,
    /// An alternative name.
    pub alias: Option<&'static str>,
    /// Its description, with the unit.
    pub doc: String,
    /// Its default; `None` if it is off by default.
    pub default: Option<toml::Value>,
    /// An example value.
    pub example: Option<toml::Value>,
    /// All possible values, if they form a closed set.
    pub choices: Vec<String>,
    /// Its flag, for example `--listen`.
    pub flag: Option<String>,
    /// Its environment variable, for example `CONVOKE_LISTEN`.
    pub variable: Option<String>,
}

/// Returns all settings of this program: those of the runtime and those of the linked application.
pub fn describe() -> Table {
    let mut root = from_schema("", &schema_of::<File>(), None);
    let flags = flags();
    // The order of the flags puts the most important settings first.
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
    root.tables.extend(sections.iter().map(|section| {
        let schema = (section.schema)();
        match as_table(&schema) {
            // An array of tables, such as `[[log_streams]]`.
            Some((inner, true)) => {
                let inner = from_schema(section.name, inner, None);
                Table { many: true, doc: description(&schema), ..inner }
            }
            Some((_, false)) | None => from_schema(section.name, &schema, None),
        }
    }));
    root
}

impl Table {
    /// Returns the path of the member `name`.
    pub fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns the setting of this name or alias.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name || setting.alias == Some(name))
    }

    /// Returns the direct subtable of this name.
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
        doc: "Limits of the runtime.".to_owned(),
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
        doc: "Calls per user, by class; 0 = no limit. Further calls are rejected with RATE_LIMITED.".to_owned(),
        settings: RateClass::all().iter().map(setting).collect(),
        ..Table::default()
    }
}

/// Returns the table of a type with this schema. `defaults` are the defaults of the table as a whole.
fn from_schema(path: &str, schema: &Json, defaults: Option<&Json>) -> Table {
    let text = description;
    let required = |name: &str| {
        schema.get("required").and_then(Json::as_array).is_some_and(|required| required.iter().any(|one| one == name))
    };
    let mut table = Table { path: path.to_owned(), doc: text(schema), ..Table::default() };
    let mut properties: Vec<_> = schema.get("properties").and_then(Json::as_object).into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| !required(name));
    for (name, property) in properties {
        let default = property.get("default").or_else(|| defaults?.get(name)).filter(|default| !default.is_null());
        table.has_required |= required(name);
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

fn description(schema: &Json) -> String {
    schema.get("description").and_then(Json::as_str).map(one_line).unwrap_or_default()
}

/// Returns the schema of a property that is a table, and true if it is an array of tables.
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
    // If any alternative is not a constant, the values do not form a closed set.
    values.map(|value| value.map(str::to_owned)).collect::<Option<_>>().unwrap_or_default()
}

fn flags() -> clap::Command {
    Flags::augment_args(EnvironmentFlag::augment_args(clap::Command::new("")))
}

/// Settings whose flag has another name. The file accepts both names.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("environment", "env"),
    ("cors_origins", "cors_origin"),
    ("trusted_proxies", "trusted_proxy"),
    ("console_hosts", "console_host"),
];

/// Returns the name, with underscores, of the flag of a setting.
fn flag_of(setting: &Setting, table: Option<&str>) -> String {
    match table {
        Some(table) => format!("{table}_{}", setting.name),
        None => {
            let other = OTHER_NAMES.iter().find(|(name, _)| *name == setting.name);
            other.map_or(setting.name.as_str(), |(_, other)| other).to_owned()
        }
    }
}

/// Copies the description of a flag to its setting: of `--log-lines` to `log_lines`, of `--tls-cert` to `tls.cert`.
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
    // A boolean default of a flag is also a boolean in the file.
    let read = |text: &str| text.parse::<bool>().map_or_else(|_| text.into(), toml::Value::from);
    setting.default = setting.default.take().or_else(|| default.map(read));
    setting.flag = flag.get_long().map(|long| format!("--{long}"));
    setting.variable = flag.get_env().map(|variable| variable.to_string_lossy().into_owned());
    setting.choices = flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
}

/// Joins a doc comment into one line and removes its code blocks.
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
    fn setting_has_the_description_of_its_flag() {
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
    fn flags_are_settings_of_the_file() {
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
    fn every_setting_has_a_description() {
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
    fn provider_has_required_settings_and_default_claims() {
        let root = describe();
        let providers = root.table("auth").unwrap().table("providers").unwrap();
        assert!(providers.many && providers.has_required);
        assert_eq!(find(&root, "auth.providers.claims.org_id").default, Some("org_id".into()));
        assert_eq!(find(&root, "auth.providers.keys").default, Some("discovery".into()));
        assert!(root.table("auth").unwrap().setting("environment").is_none());
    }
}

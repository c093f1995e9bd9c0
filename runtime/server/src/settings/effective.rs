//! The effective value of each setting and its source.

use std::fmt;

use super::describe::{Setting, Table};

/// The effective value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its path, for example `auth.providers[0].issuer`.
    pub name: String,
    /// Its value; `None` if it is off.
    pub value: Option<toml::Value>,
    /// The source of the value.
    pub origin: Origin,
}

/// The source of a value, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(String),
    /// An environment variable.
    Variable(String),
    /// The settings file.
    File,
    /// The default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(name) | Origin::Variable(name) => f.write_str(name),
            Origin::File => f.write_str("file"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// The value of a flag from the command line or the environment.
pub struct FlagValue {
    /// The values.
    pub values: Vec<String>,
    /// True if the command line sets the flag, false if its variable does.
    pub by_flag: bool,
}

/// Returns the effective values of all settings. In order of precedence: `given`, `file`, defaults. `given` returns the
/// value of a flag by its name with underscores, such as `ops_listen`.
pub fn rows(root: &Table, file: &toml::Table, given: &dyn Fn(&str) -> Option<FlagValue>) -> Vec<Row> {
    let mut rows = Vec::new();
    let providers = provider(given);
    table(&mut rows, root, "", Some(file), given);
    if !providers.is_empty() {
        // A provider from flags replaces the providers of the file.
        let at = rows.iter().position(|row| row.name.starts_with("auth.providers"));
        rows.retain(|row| !row.name.starts_with("auth.providers"));
        let at = at.or_else(|| rows.iter().position(|row| row.name.starts_with("auth."))).unwrap_or(rows.len());
        rows.splice(at..at, providers);
    }
    rows
}

fn table(
    rows: &mut Vec<Row>,
    described: &Table,
    path: &str,
    file: Option<&toml::Table>,
    given: &dyn Fn(&str) -> Option<FlagValue>,
) {
    let under = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for one in &described.settings {
        rows.push(setting(one, under(&one.name), file, given));
    }
    for inner in &described.tables {
        let name = inner.path.rsplit('.').next().unwrap_or_default();
        let path = under(name);
        match file.and_then(|file| file.get(name)) {
            Some(toml::Value::Array(tables)) => {
                for (index, one) in tables.iter().enumerate() {
                    table(rows, inner, &format!("{path}[{index}]"), one.as_table(), given);
                }
            }
            _ if inner.many => {}
            found => table(rows, inner, &path, found.and_then(toml::Value::as_table), given),
        }
    }
}

fn setting(
    setting: &Setting,
    name: String,
    file: Option<&toml::Table>,
    given: &dyn Fn(&str) -> Option<FlagValue>,
) -> Row {
    let flag = setting.flag.clone().unwrap_or_default();
    if let Some(said) = given(&flag.trim_start_matches("--").replace('-', "_")) {
        let is_list = setting.default.as_ref().is_some_and(toml::Value::is_array);
        return Row { name, value: Some(value(&said, is_list)), origin: origin(said.by_flag, setting, flag) };
    }
    let in_file = file.and_then(|file| {
        let alias = setting.alias.and_then(|alias| file.get(alias));
        file.get(&setting.name).or(alias)
    });
    match in_file {
        Some(value) => Row { name, value: Some(hidden(value)), origin: Origin::File },
        None => Row { name, value: setting.default.clone(), origin: Origin::Default },
    }
}

fn origin(by_flag: bool, setting: &Setting, flag: String) -> Origin {
    match (&setting.variable, by_flag) {
        (Some(variable), false) => Origin::Variable(variable.clone()),
        (_, true) | (None, false) => Origin::Flag(flag),
    }
}

fn value(given: &FlagValue, is_list: bool) -> toml::Value {
    match (is_list, given.values.as_slice()) {
        (false, [one]) => hidden(&one.as_str().into()),
        (_, values) => values.iter().map(String::as_str).collect::<Vec<_>>().into(),
    }
}

/// Returns the settings of the provider that the flags `--auth-…` define.
fn provider(given: &dyn Fn(&str) -> Option<FlagValue>) -> Vec<Row> {
    let parts = [("auth_issuer", "issuer", false), ("auth_audience", "audiences", true), ("auth_jwks", "keys", false)];
    let row = |(id, name, is_list): (&str, &str, bool)| {
        let said = given(id)?;
        let origin = match said.by_flag {
            true => Origin::Flag(format!("--{}", id.replace('_', "-"))),
            false => Origin::Variable(format!("CONVOKE_{}", id.to_uppercase())),
        };
        Some(Row { name: format!("auth.providers[0].{name}"), value: Some(value(&said, is_list)), origin })
    };
    parts.into_iter().filter_map(row).collect()
}

/// Hides the credentials in a URL: `https://user:password@host`.
fn hidden(value: &toml::Value) -> toml::Value {
    let Some((scheme, rest)) = value.as_str().and_then(|text| text.split_once("://")) else { return value.clone() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://…{}", &rest[user.len()..]).into(),
        None => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::describe::describe;
    use super::*;

    fn find(rows: &[Row], name: &str) -> Row {
        rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    #[test]
    fn flag_precedes_environment_precedes_file() {
        let file = "listen = '127.0.0.1:1'\ndata = 'd'\nenv = 'staging'\n[limits]\nreaders = 3\n\
                    [[auth.providers]]\nissuer = 'https://id.example'\naudiences = ['api']";
        let given = |id: &str| match id {
            "listen" => Some(FlagValue { values: vec!["127.0.0.1:2".into()], by_flag: true }),
            "cors_origin" => Some(FlagValue { values: vec!["https://a.example".into()], by_flag: false }),
            _ => None,
        };
        let rows = rows(&describe(), &toml::from_str(file).unwrap(), &given);
        for (name, value, origin) in [
            ("listen", toml::Value::from("127.0.0.1:2"), Origin::Flag("--listen".into())),
            ("cors_origins", vec!["https://a.example"].into(), Origin::Variable("CONVOKE_CORS_ORIGIN".into())),
            ("data", "d".into(), Origin::File),
            ("environment", "staging".into(), Origin::File),
            ("limits.readers", 3.into(), Origin::File),
            ("limits.batch_max", 256.into(), Origin::Default),
            ("auth.providers[0].issuer", "https://id.example".into(), Origin::File),
            ("auth.providers[0].claims.org_id", "org_id".into(), Origin::Default),
        ] {
            assert_eq!(find(&rows, name), Row { name: name.into(), value: Some(value), origin });
        }
        assert_eq!(find(&rows, "ops_listen").value, None);
    }

    #[test]
    fn provider_of_flags_replaces_those_of_the_file() {
        let file = "[[auth.providers]]\nissuer = 'https://id.example'\naudiences = ['api']";
        let given = |id: &str| {
            (id == "auth_issuer").then(|| FlagValue { values: vec!["https://other.example".into()], by_flag: false })
        };
        let rows = rows(&describe(), &toml::from_str(file).unwrap(), &given);
        let providers: Vec<_> = rows.iter().filter(|row| row.name.starts_with("auth.providers")).collect();
        assert_eq!(providers.len(), 1);
        assert_eq!(providers[0].origin, Origin::Variable("CONVOKE_AUTH_ISSUER".into()));
    }

    #[test]
    fn password_in_an_address_is_hidden() {
        for (text, shown) in [
            ("https://ada:geheim@models.example/v1", "https://…@models.example/v1"),
            ("https://models.example/v1", "https://models.example/v1"),
            ("https://models.example/a@b", "https://models.example/a@b"),
            ("plain", "plain"),
        ] {
            assert_eq!(hidden(&text.into()).as_str(), Some(shown));
        }
    }
}

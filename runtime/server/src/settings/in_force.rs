//! The effective settings with their sources, descriptions and defaults, for the console and the command line.

use serde::Serialize;

use super::describe::Table;
use super::effective::{Origin, Row};

/// An effective setting of the server.
#[derive(Clone, Debug, Serialize)]
pub struct SettingInForce {
    /// Its path, for example `limits.readers`.
    pub name: String,
    /// Its value in TOML; `None` if it is off.
    pub value: Option<String>,
    /// Its default in TOML; `None` if it is off by default.
    pub default: Option<String>,
    /// The source: `default`, `file`, or the name of the flag or variable.
    pub from: String,
    /// Its description, with the unit.
    pub doc: String,
}

/// Adds defaults and descriptions to effective values.
pub fn in_force(root: &Table, rows: &[Row]) -> Vec<SettingInForce> {
    let shown = |row: &Row| {
        let described = described(root, &row.name);
        SettingInForce {
            name: row.name.clone(),
            value: row.value.as_ref().map(ToString::to_string),
            default: described.and_then(|(default, _)| default.map(ToString::to_string)),
            from: match &row.origin {
                Origin::Flag(name) | Origin::Variable(name) => name.clone(),
                Origin::File => "file".to_owned(),
                Origin::Default => "default".to_owned(),
            },
            doc: described.map(|(_, doc)| doc.to_owned()).unwrap_or_default(),
        }
    };
    rows.iter().map(shown).collect()
}

/// Returns the default and the description of a setting by its path, whose tables may have an index.
fn described<'a>(root: &'a Table, path: &str) -> Option<(Option<&'a toml::Value>, &'a str)> {
    let mut table = root;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let part = part.split('[').next().unwrap_or_default();
        if parts.peek().is_none() {
            return table.setting(part).map(|setting| (setting.default.as_ref(), setting.doc.as_str()));
        }
        table = table.table(part)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::describe::describe;
    use super::super::effective::rows;
    use super::*;

    #[test]
    fn every_setting_has_a_description_and_a_source() {
        let file = toml::from_str("listen = '127.0.0.1:1'\n[[auth.providers]]\nissuer = 'https://id.example'").unwrap();
        let shown = in_force(&describe(), &rows(&describe(), &file, &|_| None));
        let of = |name: &str| shown.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!((of("listen").from.as_str(), of("listen").value.as_deref()), ("file", Some("\"127.0.0.1:1\"")));
        assert_eq!(of("limits.batch_max").default.as_deref(), Some("256"));
        assert!(of("auth.providers[0].issuer").from == "file");
        let silent: Vec<_> = shown.iter().filter(|one| one.doc.is_empty()).map(|one| &one.name).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }
}

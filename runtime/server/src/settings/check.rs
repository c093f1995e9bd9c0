//! The check of a settings file for unknown names.

use super::describe::Table;

/// Returns an error for each unknown name in `file`, with the nearest known name.
pub fn unknown(file: &toml::Table, described: &Table) -> Vec<String> {
    let mut found = Vec::new();
    look(file, described, described, &mut found);
    found
}

fn look(file: &toml::Table, described: &Table, root: &Table, found: &mut Vec<String>) {
    for (name, value) in file {
        if described.setting(name).is_some() {
            continue;
        }
        match (described.table(name), value) {
            (Some(inner), toml::Value::Table(table)) => look(table, inner, root, found),
            (Some(inner), toml::Value::Array(tables)) => {
                for table in tables.iter().filter_map(toml::Value::as_table) {
                    look(table, inner, root, found);
                }
            }
            // The deserialization of the file reports a wrong type.
            (Some(_), _) => {}
            (None, _) => found.push(sentence(name, described, root)),
        }
    }
}

fn sentence(name: &str, described: &Table, root: &Table) -> String {
    let path = described.path_of(name);
    if let Some(nearest) = nearest(name, described) {
        return format!("`{path}` is not a setting; did you mean `{}`?", described.path_of(nearest));
    }
    if let Some(home) = home(name, root) {
        let place = if home.is_empty() { "before the first table".to_owned() } else { format!("in [{home}]") };
        return format!("`{path}` is not a setting; `{name}` belongs {place}");
    }
    let mut known: Vec<&str> = names(described).collect();
    known.sort_unstable();
    match known.len() {
        0..=16 => format!("`{path}` is not a setting; the settings are {}", known.join(", ")),
        _ => format!("`{path}` is not a setting; `convoke config example` lists all settings"),
    }
}

fn names(described: &Table) -> impl Iterator<Item = &str> {
    let tables = described.tables.iter().filter_map(|table| table.path.rsplit('.').next());
    described.settings.iter().map(|setting| setting.name.as_str()).chain(tables)
}

fn nearest<'a>(name: &str, described: &'a Table) -> Option<&'a str> {
    let distance_max = (name.len() / 3).max(1);
    names(described)
        .map(|known| (strsim::osa_distance(known, &name.to_lowercase()), known))
        .min()
        .filter(|(distance, _)| *distance <= distance_max)
        .map(|(_, known)| known)
}

/// Returns the path of the table with a setting of this name.
fn home<'a>(name: &str, table: &'a Table) -> Option<&'a str> {
    if table.settings.iter().any(|setting| setting.name == name) {
        return Some(&table.path);
    }
    table.tables.iter().find_map(|inner| home(name, inner))
}

#[cfg(test)]
mod tests {
    use super::super::describe::describe;
    use super::*;

    #[test]
    fn unknown_name_is_reported_with_a_suggestion() {
        for (file, sentence) in [
            ("listn = 'x'", "`listn` is not a setting; did you mean `listen`?"),
            ("[limit]\nreaders = 4", "`limit` is not a setting; did you mean `limits`?"),
            ("[limits]\nreeders = 4", "`limits.reeders` is not a setting; did you mean `limits.readers`?"),
            ("readers = 4", "`readers` is not a setting; `readers` belongs in [limits]"),
            ("[tls]\nlisten = 'x'", "`tls.listen` is not a setting; `listen` belongs before the first table"),
            (
                "[auth]\ndeploy_key_scheme = ['x']",
                "`auth.deploy_key_scheme` is not a setting; did you mean `auth.deploy_key_schemes`?",
            ),
            (
                "[[auth.providers]]\nissuer = 'i'\naudience = ['a']",
                "`auth.providers.audience` is not a setting; did you mean `auth.providers.audiences`?",
            ),
            (
                "[auth.providers]\nclaims = { organisation = 'o' }",
                "`auth.providers.claims.organisation` is not a setting; the settings are email, email_verified, name, org_id, \
                 picture, roles, subject",
            ),
            ("[rates]\nreed = 5", "`rates.reed` is not a setting; did you mean `rates.read`?"),
            ("colour = 'red'", "`colour` is not a setting; `convoke config example` lists all settings"),
        ] {
            let found = unknown(&toml::from_str(file).unwrap(), &describe());
            assert_eq!(found.len(), 1, "{file}: {found:?}");
            assert!(found[0].starts_with(sentence), "{file}: {found:?}");
        }
    }

    #[test]
    fn all_unknown_names_are_reported() {
        let file =
            toml::from_str("a1 = 1\ncors_origin = []\nenv = 'staging'\n[tls]\nb1 = 2\n[limits]\nc1 = 3").unwrap();
        assert_eq!(unknown(&file, &describe()).len(), 3);
    }
}

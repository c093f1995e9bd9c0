//! Holding a file against the description: what it names must exist.

use super::describe::Table;

/// What `file` sets that is no setting, each in a sentence that names the nearest one.
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
            // The wrong type is for the code that reads the values.
            (Some(_), _) => {}
            (None, _) => found.push(sentence(name, described, root)),
        }
    }
}

fn sentence(name: &str, described: &Table, root: &Table) -> String {
    let path = described.path_of(name);
    if let Some(nearest) = nearest(name, described) {
        return format!("`{path}` is no setting; did you mean `{}`?", described.path_of(nearest));
    }
    if let Some(home) = home(name, root) {
        let place = if home.is_empty() { "before the first table".to_owned() } else { format!("in [{home}]") };
        return format!("`{path}` is no setting; `{name}` stands {place}");
    }
    let mut known: Vec<&str> = names(described).collect();
    known.sort_unstable();
    match known.len() {
        0..=16 => format!("`{path}` is no setting; there are {}", known.join(", ")),
        _ => format!("`{path}` is no setting; `convoke config example` shows them all"),
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

/// The path of the table that has a setting of this very name.
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
    fn what_is_no_setting_is_named_with_the_nearest_or_its_place() {
        for (file, sentence) in [
            ("listn = 'x'", "`listn` is no setting; did you mean `listen`?"),
            ("[limit]\nreaders = 4", "`limit` is no setting; did you mean `limits`?"),
            ("[limits]\nreeders = 4", "`limits.reeders` is no setting; did you mean `limits.readers`?"),
            ("readers = 4", "`readers` is no setting; `readers` stands in [limits]"),
            ("[tls]\nlisten = 'x'", "`tls.listen` is no setting; `listen` stands before the first table"),
            (
                "[auth]\ndeploy_key_scheme = ['x']",
                "`auth.deploy_key_scheme` is no setting; did you mean `auth.deploy_key_schemes`?",
            ),
            (
                "[[auth.providers]]\nissuer = 'i'\naudience = ['a']",
                "`auth.providers.audience` is no setting; did you mean `auth.providers.audiences`?",
            ),
            (
                "[auth.providers]\nclaims = { organisation = 'o' }",
                "`auth.providers.claims.organisation` is no setting; there are email, email_verified, name, org_id, \
                 picture, roles, subject",
            ),
            ("[rates]\nreed = 5", "`rates.reed` is no setting; did you mean `rates.read`?"),
            ("colour = 'red'", "`colour` is no setting; `convoke config example` shows them all"),
        ] {
            let found = unknown(&toml::from_str(file).unwrap(), &describe());
            assert_eq!(found.len(), 1, "{file}: {found:?}");
            assert!(found[0].starts_with(sentence), "{file}: {found:?}");
        }
    }

    #[test]
    fn all_of_them_are_named_and_what_is_one_is_not() {
        let file =
            toml::from_str("a1 = 1\ncors_origin = []\nenv = 'staging'\n[tls]\nb1 = 2\n[limits]\nc1 = 3").unwrap();
        assert_eq!(unknown(&file, &describe()).len(), 3);
    }
}

//! The complete settings file. These tests are not beside the code: the unit tests of the crate link it twice, because the
//! facade that they use depends on it, so each section of settings would be submitted twice.

use convoke_server::config::Config;
use convoke_server::settings::describe::describe;
use convoke_server::settings::example::{uncommented, with_examples, write};

fn resolve(text: &str) -> Config {
    Config::of_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn example_has_the_defaults_commented_and_uncommented() {
    let text = write(&describe());
    let bare = uncommented(&text);
    let nothing = format!("{:?}", Config { sections: toml::Table::new(), ..resolve("") });
    for file in [&text, &bare] {
        let config = Config { sections: toml::Table::new(), ..resolve(file) };
        assert_eq!(format!("{config:?}"), nothing);
    }
    assert!(bare.lines().filter(|line| line.starts_with("mutation_timeout = \"1s\"")).count() == 1, "{bare}");
}

#[test]
fn examples_are_valid() {
    let config = resolve(&with_examples(&write(&describe())));
    assert_eq!(config.auth.providers.len(), 1);
    config.auth.check().unwrap();
    assert!(config.http.tls.is_some() && config.http.ops_listen.is_some());
}

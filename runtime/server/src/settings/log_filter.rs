//! The filter of the log: a level, levels of single parts, or both.

use tracing::level_filters::LevelFilter;

/// Checks a filter such as `info` or `warn,convoke=debug`. A word that is no level would be the name of a part, and silently
/// leave out everything else.
///
/// # Errors
/// A part without a valid level. The message names the levels.
pub fn check(filter: &str) -> Result<(), String> {
    for part in filter.split(',').map(str::trim) {
        let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "log: {level:?} is not a level; the levels are off, error, warn, info, debug and trace: write e.g. \"info\" or \
                 \"warn,convoke=debug\""
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_needs_a_level() {
        for valid in ["info", "OFF", "warn,convoke=debug", "warn, convoke::function=off", "convoke=5"] {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        for invalid in ["verbose", "", "convoke", "info,", "convoke=loud", "warn,convoke="] {
            let error = check(invalid).unwrap_err();
            assert!(error.contains("off, error, warn, info, debug and trace"), "{invalid}: {error}");
        }
    }
}

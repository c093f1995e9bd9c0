//! The Node.js of this machine, which builds the page of a template.

use std::process::Command;

/// The oldest version that the tools of the page support, as major and minor number.
const OLDEST: (u32, u32) = (20, 19);

/// Returns advice if there is no Node.js of a supported version on the `PATH`.
pub(crate) fn advice() -> Option<String> {
    let (major, minor) = OLDEST;
    let wanted =
        format!("The page needs Node.js {major}.{minor} or later with npm: install it from https://nodejs.org");
    let output = match Command::new("node").arg("--version").output() {
        Ok(output) => output,
        Err(_) => return Some(format!("{wanted}. There is no `node` on the PATH.")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let is_supported = version(said.trim()).is_some_and(|version| version >= OLDEST);
    (!is_supported).then(|| format!("{wanted}. `node --version` says {:?}.", said.trim()))
}

/// Reads a version such as `v22.12.0`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(version("v20.9.0").unwrap() < OLDEST);
        assert!(version("v20.19.0").unwrap() >= OLDEST);
        assert!(version("v100.0.1").unwrap() >= OLDEST);
        assert_eq!(version(""), None);
        assert_eq!(version("20.19.0"), None);
    }
}

//! The line of a new program's `Cargo.toml` that names the runtime.

use std::path::{Path, PathBuf};

/// The crate that a program depends on, within a checkout of Convoke.
const CRATE: &str = "runtime/convoke";

/// The source of the runtime.
#[derive(Debug, PartialEq)]
pub(crate) enum Dependency {
    /// The release of the tool's version.
    Release,
    /// A folder with the sources of Convoke, as an absolute path.
    Checkout(PathBuf),
}

impl Dependency {
    /// Returns the given checkout. Without one, returns the checkout that the tool was installed from, or the release if
    /// the tool was installed from a package registry.
    ///
    /// # Errors
    /// The given folder is not a checkout.
    pub(crate) fn choose(given: Option<&Path>) -> Result<Self, String> {
        let Some(given) = given else {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            return Ok(checkout(&own).map_or(Self::Release, Self::Checkout));
        };
        checkout(given).map(Self::Checkout).ok_or_else(|| {
            format!(
                "{} is not a checkout of Convoke: it has no {CRATE}/Cargo.toml. Give the folder of the cloned repository",
                given.display()
            )
        })
    }

    /// Returns the lines of the manifest.
    ///
    /// # Errors
    /// The path is not UTF-8, as a manifest must be.
    pub(crate) fn line(&self) -> Result<String, String> {
        // Cargo adds compatible versions: `0.2` accepts 0.2.1.
        let release = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
        match self {
            Self::Release => Ok(format!("convoke = \"{release}\"")),
            Self::Checkout(folder) => {
                let path = folder.join(CRATE);
                let path = path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))?;
                let path = path.replace('\\', "\\\\").replace('"', "\\\"");
                Ok(format!(
                    "# A checkout on this machine. On other machines, use the release: convoke = \"{release}\"\n\
                     convoke = {{ path = \"{path}\" }}"
                ))
            }
        }
    }
}

/// Returns the absolute path of a folder that is a checkout.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.join(CRATE).join("Cargo.toml").is_file().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkout_of_the_tool_is_the_default_and_another_folder_is_rejected() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        assert_eq!(Dependency::choose(None).unwrap(), Dependency::Checkout(own.clone()));
        assert_eq!(Dependency::choose(Some(&own)).unwrap(), Dependency::Checkout(own.clone()));
        let error = Dependency::choose(Some(&own.join("runtime"))).unwrap_err();
        assert!(error.contains("is not a checkout of Convoke") && error.contains("cloned repository"), "{error}");
    }

    #[test]
    fn line_names_the_release_or_the_quoted_path() {
        let line = Dependency::Release.line().unwrap();
        let version = line.strip_prefix("convoke = \"").and_then(|rest| rest.strip_suffix('"')).unwrap();
        assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{version}.")), "{line}");
        let line = Dependency::Checkout("/a \"b\"".into()).line().unwrap();
        assert!(line.ends_with("\nconvoke = { path = \"/a \\\"b\\\"/runtime/convoke\" }"), "{line}");
    }
}

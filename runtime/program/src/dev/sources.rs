//! The sources of the running program: its package, the path dependencies, and the build that made it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use convoke_server::config::FILE;

/// Files beside the sources on which a build depends.
const MANIFESTS: [&str; 4] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "rust-toolchain"];

/// The sources of the running program. All paths are absolute and without links.
pub(super) struct Sources {
    /// The program's file, which each build replaces.
    pub(super) program: PathBuf,
    /// The settings file, which may not exist.
    pub(super) settings: PathBuf,
    /// The folders of the package and of its path dependencies.
    pub(super) packages: Vec<PathBuf>,
    cargo: OsString,
    /// The arguments of the build, with the profile, target and features of the running program.
    arguments: Vec<OsString>,
    workspace: PathBuf,
    target_folder: PathBuf,
    /// The folder with the program's main file.
    main: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    /// The folder of a path dependency.
    path: Option<PathBuf>,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

impl Sources {
    /// Finds the sources in the folder of the package, if Cargo started this program, or else in the current folder or
    /// one above it.
    ///
    /// # Errors
    /// The reason why there are none, as a part of a sentence.
    pub(super) fn of_this_program(settings: Option<&Path>) -> Result<Self, String> {
        let unreadable = |what: &str, error: std::io::Error| format!("{what} cannot be found: {error}");
        let program = std::env::current_exe().and_then(std::fs::canonicalize);
        let program = program.map_err(|error| unreadable("the file of this program", error))?;
        let current = std::env::current_dir().and_then(std::fs::canonicalize);
        let current = current.map_err(|error| unreadable("the current folder", error))?;
        let folder = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| current.clone(), PathBuf::from);
        let manifest = folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file());
        let manifest = manifest.ok_or_else(|| format!("there is no Cargo.toml in {} or above", folder.display()))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let metadata = metadata(&cargo, &manifest)?;
        let target_folder = std::fs::canonicalize(&metadata.target_directory);
        let target_folder = target_folder.ok().filter(|folder| program.starts_with(folder));
        let built = Built::of(&program, target_folder.as_deref());
        let built = built.ok_or_else(|| format!("{} was not built from {}", program.display(), manifest.display()))?;
        let (package, main) = package_of(&metadata, &manifest, &built.name)
            .ok_or_else(|| format!("{} has no program {:?}", manifest.display(), built.name))?;
        let folder = package.manifest_path.parent().unwrap_or(Path::new("/")).to_owned();
        let arguments = built.arguments(package);
        let main = main.src_path.parent().unwrap_or(&folder).to_owned();
        let workspace = metadata.workspace_root.clone();
        let packages = with_path_dependencies(&cargo, metadata, folder)?;
        let settings = std::path::absolute(settings.unwrap_or(Path::new(FILE)));
        let settings = settings.map_err(|error| unreadable("the settings file", error))?;
        Ok(Self { settings, packages, cargo, arguments, workspace, target_folder: built.target_folder, main, program })
    }

    /// Returns the command that builds the program again: its messages are JSON on standard output.
    pub(super) fn build(&self, colors: bool) -> Command {
        let mut command = cargo(&self.cargo);
        // In the current folder, as `cargo run`: Cargo reads its settings from there.
        command.arg("build").args(&self.arguments);
        let (format, color) = if colors { ("json-diagnostic-rendered-ansi", "always") } else { ("json", "never") };
        command.args(["--message-format", format, "--color", color]);
        command
    }

    /// Returns the folders to watch with everything in them.
    pub(super) fn trees(&self) -> BTreeSet<PathBuf> {
        let sources = self.packages.iter().map(|package| package.join("src")).filter(|folder| folder.is_dir());
        let mut trees: BTreeSet<PathBuf> = sources.collect();
        if !trees.iter().any(|tree| self.main.starts_with(tree)) && !self.packages.contains(&self.main) {
            trees.insert(self.main.clone());
        }
        trees
    }

    /// Returns the folders to watch without the folders in them.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let trees = self.trees();
        let inputs = self.inputs();
        let of_files = inputs.iter().chain([&self.settings]).filter_map(|file| file.parent()).map(Path::to_owned);
        let all = of_files.chain(self.packages.iter().cloned()).chain([self.workspace.clone()]);
        all.filter(|folder| folder.is_dir() && !trees.iter().any(|tree| folder.starts_with(tree))).collect()
    }

    /// Returns the files that the last build read, by Cargo's list beside the program. Files that a build makes are not
    /// among them.
    pub(super) fn inputs(&self) -> BTreeSet<PathBuf> {
        let list = std::fs::read_to_string(self.program.with_extension("d")).unwrap_or_default();
        let files = list.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, files)| files);
        // A space in a name is escaped.
        let files = files.replace("\\ ", "\0");
        let files = files.split(' ').map(|file| PathBuf::from(file.replace('\0', " ")));
        files.filter(|file| file.is_absolute() && !file.starts_with(&self.target_folder)).collect()
    }

    /// Returns true if a change of this file needs a build or a restart. `inputs` are the files of the last build.
    pub(super) fn is_source(&self, path: &Path, inputs: &BTreeSet<PathBuf>) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path == self.settings || inputs.contains(path) {
            return true;
        }
        // Beside a source, editors write hidden files, and names with other ends.
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        !path.starts_with(&self.target_folder) && !name.starts_with('.') && (is_rust || MANIFESTS.contains(&name))
    }
}

/// The build of the running program, as its place in Cargo's target folder shows.
struct Built {
    name: String,
    profile: String,
    target: Option<String>,
    target_folder: PathBuf,
    profile_folder: PathBuf,
    /// The file in `deps/` that is the same file, without its folder: `name-hash`.
    unit: Option<String>,
}

impl Built {
    /// `target_folder` is the one of the package, if the program is in it. Otherwise the program must have been started
    /// by Cargo, with another target folder.
    fn of(program: &Path, target_folder: Option<&Path>) -> Option<Self> {
        let name = program.file_name()?.to_str()?.to_owned();
        let profile_folder = program.parent()?.to_owned();
        let profile = match profile_folder.file_name()?.to_str()? {
            "debug" => "dev",
            name => name,
        };
        let parent = profile_folder.parent()?;
        let target_folder = match target_folder {
            Some(folder) => folder,
            None => std::env::var_os("CARGO").and(Some(parent))?,
        };
        let target = parent.strip_prefix(target_folder).ok()?.to_str()?;
        let target = Some(target).filter(|target| !target.is_empty()).map(str::to_owned);
        let unit = unit_of(program, &profile_folder.join("deps"), &name.replace('-', "_"));
        let (profile, target_folder) = (profile.to_owned(), target_folder.to_owned());
        Some(Self { name, profile, target, target_folder, profile_folder, unit })
    }

    fn arguments(&self, package: &Package) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--manifest-path".into(), (&package.manifest_path).into()];
        for (flag, value) in [("--package", &package.name), ("--bin", &self.name), ("--profile", &self.profile)] {
            arguments.extend([flag.into(), value.into()]);
        }
        arguments.extend(["--target-dir".into(), (&self.target_folder).into()]);
        if let Some(target) = &self.target {
            arguments.extend(["--target".into(), target.into()]);
        }
        if let Some(features) = self.features(package) {
            arguments.extend(["--no-default-features".into(), "--features".into(), features.join(",").into()]);
        }
        arguments
    }

    /// Returns the features of the running program, by Cargo's record of its build. `None`: unknown; a build then has the
    /// default features.
    fn features(&self, package: &Package) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct Fingerprint {
            features: String,
        }
        let hash = self.unit.as_ref()?.rsplit_once('-')?.1;
        let folder = self.profile_folder.join(".fingerprint").join(format!("{}-{hash}", package.name));
        let record = std::fs::read(folder.join(format!("bin-{}.json", self.name))).ok()?;
        let fingerprint: Fingerprint = serde_json::from_slice(&record).ok()?;
        serde_json::from_str(&fingerprint.features).ok()
    }
}

/// Returns the name of the file in `folder` that is a hard link of the program.
fn unit_of(program: &Path, folder: &Path, name: &str) -> Option<String> {
    let same = std::fs::metadata(program).ok()?;
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let mut named = files
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|file| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-') && !rest.contains('.')));
    named.find(|file| {
        std::fs::metadata(folder.join(file)).is_ok_and(|one| (one.dev(), one.ino()) == (same.dev(), same.ino()))
    })
}

/// Returns a command of Cargo without the variables that `cargo run` added: a build must not depend on them.
fn cargo(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_added = ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| text.starts_with(start));
        if is_added || ["CARGO_PRIMARY_PACKAGE", "CARGO_CRATE_NAME", "CARGO_BIN_NAME"].contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Reads the members of a workspace. Does not use the network.
fn metadata(program: &OsStr, manifest: &Path) -> Result<Metadata, String> {
    let mut command = cargo(program);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"]).arg(manifest);
    let failed = |error: &dyn std::fmt::Display| format!("`cargo metadata` failed: {error}");
    let output = command.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// Returns the package of the program `name`: the one with this manifest, or else a member of the workspace.
fn package_of<'a>(metadata: &'a Metadata, manifest: &Path, name: &str) -> Option<(&'a Package, &'a Target)> {
    let is_program = |target: &&Target| target.name == name && target.kind.iter().any(|kind| kind == "bin");
    let mut found: Vec<_> = metadata
        .packages
        .iter()
        .filter_map(|package| Some((package, package.targets.iter().find(is_program)?)))
        .collect();
    found.sort_by_key(|(package, _)| package.manifest_path != manifest);
    found.first().copied()
}

/// Returns the folder of a package and those of the packages that it depends on by path. Dependencies of tests only are
/// not among them.
fn with_path_dependencies(cargo: &OsStr, first: Metadata, package: PathBuf) -> Result<Vec<PathBuf>, String> {
    let mut known = first.packages;
    let mut found: Vec<PathBuf> = vec![package];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        next += 1;
        let is_here = |package: &Package| package.manifest_path.parent() == Some(&folder);
        if !known.iter().any(is_here) {
            known.extend(metadata(cargo, &folder.join("Cargo.toml"))?.packages);
        }
        let Some(package) = known.iter().find(|package| is_here(package)) else { continue };
        let needed = package.dependencies.iter().filter(|one| one.kind.as_deref() != Some("dev"));
        for path in needed.filter_map(|dependency| dependency.path.as_ref()) {
            if !found.contains(path) {
                found.push(path.clone());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        Sources {
            program: "/shelf/target/debug/shelf".into(),
            settings: "/shelf/convoke.toml".into(),
            packages: vec!["/shelf".into(), "/words".into()],
            cargo: "cargo".into(),
            arguments: Vec::new(),
            workspace: "/shelf".into(),
            target_folder: "/shelf/target".into(),
            main: "/shelf/src".into(),
        }
    }

    #[test]
    fn files_of_editors_and_of_builds_are_no_sources() {
        let inputs = BTreeSet::from(["/shelf/templates/page.html".into()]);
        let is_source = |path: &str| sources().is_source(Path::new(path), &inputs);
        for path in [
            "/shelf/src/main.rs",
            "/words/src/deep/er.rs",
            "/shelf/build.rs",
            "/shelf/Cargo.toml",
            "/shelf/convoke.toml",
            "/shelf/templates/page.html",
        ] {
            assert!(is_source(path), "{path}");
        }
        for path in [
            "/shelf/src/.main.rs.swp",
            "/shelf/src/.#main.rs",
            "/shelf/src/#main.rs#",
            "/shelf/src/main.rs~",
            "/shelf/src/4913",
            "/shelf/target/debug/build/out/generated.rs",
            "/shelf/templates/other.html",
            "/shelf/data/convoke.db",
        ] {
            assert!(!is_source(path), "{path}");
        }
    }

    #[test]
    fn place_of_the_program_shows_profile_and_target() {
        let target = Path::new("/shelf/target");
        let built = |program: &str| {
            let built = Built::of(Path::new(program), Some(target))?;
            Some((built.name, built.profile, built.target))
        };
        let expected = |profile: &str, target: Option<&str>| {
            Some(("shelf".to_owned(), profile.to_owned(), target.map(str::to_owned)))
        };
        assert_eq!(built("/shelf/target/debug/shelf"), expected("dev", None));
        assert_eq!(built("/shelf/target/release/shelf"), expected("release", None));
        assert_eq!(built("/shelf/target/x86_64-linux/fast/shelf"), expected("fast", Some("x86_64-linux")));
        assert_eq!(built("/usr/local/bin/shelf"), None);
    }
}

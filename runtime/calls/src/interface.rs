//! What an application says of its interface: title, version, tags.

use std::borrow::Cow;

/// What stands at the head of the description. Register it with [`crate::interface!`].
#[derive(Debug)]
pub struct About {
    /// What the interface is called.
    pub title: &'static str,
    /// The version of the description, which is not that of the program.
    pub version: &'static str,
    /// What it is for, in Markdown.
    pub description: &'static str,
    /// The groups of its functions, in the order in which they are shown.
    pub tags: &'static [Tag],
}

/// A group of functions: those below its modules.
#[derive(Debug)]
pub struct Tag {
    /// As it is shown.
    pub name: &'static str,
    /// What the group is about, in Markdown.
    pub description: &'static str,
    /// The beginnings of paths that belong to it, such as `meetings/webrtc`. The longest that fits decides.
    pub modules: &'static [&'static str],
}

/// An [`About`] that [`crate::interface!`] registers.
pub struct SubmittedAbout(pub &'static About);
inventory::collect!(SubmittedAbout);

impl About {
    /// Of a program that says nothing.
    pub const NONE: About = About { title: "Functions", version: "1.0.0", description: "", tags: &[] };

    /// What the program says, or a plain head if it says nothing.
    ///
    /// # Errors
    /// It says it twice.
    pub fn collect() -> Result<&'static About, String> {
        let mut submitted = inventory::iter::<SubmittedAbout>().map(|submitted| submitted.0);
        match (submitted.next(), submitted.next()) {
            (None, _) => Ok(&Self::NONE),
            (Some(about), None) => Ok(about),
            (Some(first), Some(second)) => {
                Err(format!("two `convoke::interface!` in one program: {:?} and {:?}", first.title, second.title))
            }
        }
    }

    /// The group of the function at `path`; one that no tag names is its first module.
    pub fn tag_of<'a>(&'a self, path: &'a str) -> Cow<'a, str> {
        let modules = self.tags.iter().flat_map(|tag| tag.modules.iter().map(move |module| (*module, tag.name)));
        let below = |module: &str| path.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'));
        match modules.filter(|(module, _)| below(module)).max_by_key(|(module, _)| module.len()) {
            Some((_, name)) => name.into(),
            None => capitalized(path.split('/').next().unwrap_or_default()).into(),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Says what the interface of this program is called, and how its functions are grouped in the description.
///
/// ```
/// # extern crate convoke_calls as convoke;
/// convoke::interface! {
///     title: "The notes of a small office",
///     version: "1.0.0",
///     description: "Who writes what, and who reads it.",
///     tags: [
///         { name: "Notes", description: "Writing and reading.", modules: ["notes"] },
///         { name: "People", description: "Who they are.", modules: ["users", "profiles"] },
///     ],
/// }
/// ```
#[macro_export]
macro_rules! interface {
    (
        title: $title:expr,
        version: $version:expr,
        description: $description:expr,
        tags: [$({ name: $name:expr, description: $about:expr, modules: [$($module:expr),+ $(,)?] $(,)? }),* $(,)?] $(,)?
    ) => {
        $crate::__private::inventory::submit! {
            $crate::interface::SubmittedAbout(&$crate::interface::About {
                title: $title,
                version: $version,
                description: $description,
                tags: &[$($crate::interface::Tag { name: $name, description: $about, modules: &[$($module),+] }),*],
            })
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_module_decides_and_a_path_without_a_tag_has_its_first_module() {
        let tag = |name, modules| Tag { name, description: "", modules };
        let tags: &'static [Tag] =
            Box::leak(Box::new([tag("Meetings", &["meetings"]), tag("WebRTC", &["meetings/webrtc"])]));
        let about = About { tags, ..About::NONE };
        assert_eq!(about.tag_of("meetings/lifecycle/leaveMeeting"), "Meetings");
        assert_eq!(about.tag_of("meetings/webrtc/rooms/open"), "WebRTC");
        assert_eq!(about.tag_of("meetingsRoom/open"), "MeetingsRoom");
    }
}

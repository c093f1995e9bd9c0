//! The application's description of its interface: title, version, tags.

use std::borrow::Cow;

/// The head of the description. Register it with [`crate::interface!`].
#[derive(Debug)]
pub struct About {
    /// Title of the interface.
    pub title: &'static str,
    /// Version of the description, which is not that of the program.
    pub version: &'static str,
    /// Purpose of the interface, in Markdown.
    pub description: &'static str,
    /// Groups of functions, in display order.
    pub tags: &'static [Tag],
}

/// A group of functions: all functions below its modules.
#[derive(Debug)]
pub struct Tag {
    /// Display name.
    pub name: &'static str,
    /// Subject of the group, in Markdown.
    pub description: &'static str,
    /// Path prefixes that belong to the group, such as `meetings/webrtc`. The longest prefix that fits decides.
    pub modules: &'static [&'static str],
}

/// An [`About`] that [`crate::interface!`] registers.
pub struct SubmittedAbout(pub &'static About);
inventory::collect!(SubmittedAbout);

impl About {
    /// Description of a program that registers none.
    pub const NONE: About = About { title: "Functions", version: "1.0.0", description: "", tags: &[] };

    /// Returns the program's description, or [`About::NONE`] if it registers none.
    ///
    /// # Errors
    /// The program registers two.
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

    /// Returns the group of the function at `path`. Without a tag, it is the first module of the path.
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

/// Declares the title, version and description of the program's interface, and the groups of its functions.
///
/// ```
/// # extern crate convoke_calls as convoke;
/// convoke::interface! {
///     title: "The notes of a small office",
///     version: "1.0.0",
///     description: "Write notes and share them.",
///     tags: [
///         { name: "Notes", description: "Read and write notes.", modules: ["notes"] },
///         { name: "People", description: "Users and their profiles.", modules: ["users", "profiles"] },
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
    fn longest_module_decides_and_path_without_tag_has_its_first_module() {
        let tag = |name, modules| Tag { name, description: "", modules };
        let tags: &'static [Tag] =
            Box::leak(Box::new([tag("Meetings", &["meetings"]), tag("WebRTC", &["meetings/webrtc"])]));
        let about = About { tags, ..About::NONE };
        assert_eq!(about.tag_of("meetings/lifecycle/leaveMeeting"), "Meetings");
        assert_eq!(about.tag_of("meetings/webrtc/rooms/open"), "WebRTC");
        assert_eq!(about.tag_of("meetingsRoom/open"), "MeetingsRoom");
    }
}

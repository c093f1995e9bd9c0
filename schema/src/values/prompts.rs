//! Prompts: their phase, and the feedback on them.

use convoke::value;

/// The phase of a prompt.
#[value(name = "PromptKind")]
pub enum PromptKind {
    /// Before the call: conversation starters.
    PreCall,
    /// During the call: ways to continue.
    InCall,
}

/// The reader's feedback on a prompt.
#[value(name = "PromptFeedback")]
pub enum PromptFeedback {
    /// Used.
    Used,
    /// Dismissed.
    Dismissed,
    /// Liked.
    Upvoted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_spelled_as_the_contract_does() {
        let names: Vec<&str> = PromptKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names, ["pre-call", "in-call"]);
        let names: Vec<&str> = PromptFeedback::ALL.iter().map(|feedback| feedback.as_str()).collect();
        assert_eq!(names, ["used", "dismissed", "upvoted"]);
    }
}

//! Prompts: when they are for, and what happened to them.

use convoke::value;

/// When a prompt is for.
#[value(name = "PromptKind")]
pub enum PromptKind {
    /// Before the call: how to begin.
    PreCall,
    /// During the call: how to go on.
    InCall,
}

/// What its reader did with a prompt.
#[value(name = "PromptFeedback")]
pub enum PromptFeedback {
    /// Said it.
    Used,
    /// Does not want to see it again.
    Dismissed,
    /// Liked it.
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

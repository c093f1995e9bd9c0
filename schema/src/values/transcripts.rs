//! Transcripts: the text of a chunk and its language.

use convoke::value;

/// What was said, trimmed, 1 … 10,000 characters.
///
/// ```json
/// "Good morning."
/// ```
#[value(text, trim, min = 1, max = 10_000)]
pub struct ChunkText(String);

/// A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`).
///
/// ```json
/// "en"
/// ```
#[value(text, min = 2, max = 35, check = language_tag, expected = "a BCP 47 language tag such as en or pt-BR")]
pub struct LanguageTag(String);

/// English.
impl Default for LanguageTag {
    fn default() -> Self {
        Self("en".to_owned())
    }
}

fn language_tag(text: String) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let alphanumeric = |part: &&str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let language = parts[0];
    // `x-…` is private, `i-…` was registered before the present form: both need something behind them.
    let begins = match language.len() {
        1 => parts.len() > 1 && ["x", "i"].contains(&language.to_ascii_lowercase().as_str()),
        len => (2..=8).contains(&len) && language.bytes().all(|b| b.is_ascii_alphabetic()),
    };
    if begins && parts.iter().all(alphanumeric) {
        Ok(in_recommended_case(&parts))
    } else {
        Err("must be a BCP 47 language tag such as en or pt-BR".to_owned())
    }
}

/// Lower case, but regions (two letters) in upper case and scripts (four letters) with a capital, unless they follow a
/// singleton.
fn in_recommended_case(parts: &[&str]) -> String {
    let mut after_singleton = false;
    let mut tag = String::new();
    for (at, part) in parts.iter().enumerate() {
        let mut part = part.to_ascii_lowercase();
        if at > 0 {
            tag.push('-');
            let is_word = part.bytes().all(|b| b.is_ascii_alphabetic());
            match part.len() {
                2 if is_word && !after_singleton => part.make_ascii_uppercase(),
                4 if is_word && !after_singleton => part[..1].make_ascii_uppercase(),
                _ => {}
            }
        }
        after_singleton |= part.len() == 1;
        tag.push_str(&part);
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_has_up_to_ten_thousand_characters() {
        assert_eq!(ChunkText::new(" hello \n").unwrap().as_str(), "hello");
        assert!(ChunkText::new(" ").is_err());
        assert!(ChunkText::new("x".repeat(10_000)).is_ok() && ChunkText::new("x".repeat(10_001)).is_err());
    }

    #[test]
    fn a_language_has_one_spelling() {
        for (sent, kept) in [
            ("en", "en"),
            ("EN", "en"),
            ("en-us", "en-US"),
            ("pt-BR", "pt-BR"),
            ("ZH-hant-tw", "zh-Hant-TW"),
            ("sl-IT-nedis", "sl-IT-nedis"),
            ("de-CH-1996", "de-CH-1996"),
            ("es-419", "es-419"),
            ("en-u-CA-Latn", "en-u-ca-latn"),
            ("x-whatever", "x-whatever"),
            ("I-klingon", "i-klingon"),
        ] {
            assert_eq!(LanguageTag::new(sent).unwrap().as_str(), kept);
        }
        assert_eq!(LanguageTag::default().as_str(), "en");
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for bad in
            ["", "e", "x", "en_US", "en-", "-en", "en--US", "englishes", "e1", "en-verylongpart", "deütsch", "en US"]
        {
            assert!(LanguageTag::new(bad).is_err(), "{bad:?}");
        }
    }
}

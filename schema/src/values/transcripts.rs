//! Transcripts: the text of a chunk and its language.

use convoke::value;

/// The text of a chunk: trimmed, 1 … 10,000 characters.
///
/// ```json
/// "Good morning."
/// ```
#[value(text, trim, min = 1, max = 10_000)]
pub struct ChunkText(String);

/// A BCP 47 language tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). A three-letter code of
/// ISO 639-2 becomes its two-letter code (`deu` and `ger` become `de`). `und` is an unknown language.
///
/// ```json
/// "en"
/// ```
#[value(text, min = 2, max = 35, check = language_tag, expected = "a BCP 47 language tag such as en or pt-BR")]
pub struct LanguageTag(String);

/// Returns `und`, the tag for an unknown language (RFC 5646 §4.1).
impl Default for LanguageTag {
    fn default() -> Self {
        Self(UNKNOWN.to_owned())
    }
}

impl LanguageTag {
    /// Returns true unless the language is unknown.
    pub fn is_known(&self) -> bool {
        self.0.split('-').next() != Some(UNKNOWN)
    }
}

const UNKNOWN: &str = "und";

fn language_tag(text: String) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let alphanumeric = |part: &&str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let language = parts[0];
    // `x-…` is private and `i-…` is an older registration. Both need a subtag.
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

/// Returns the tag in lower case, except regions (two letters) in upper case and scripts (four letters) with a capital.
/// After a singleton all subtags are in lower case.
fn in_recommended_case(parts: &[&str]) -> String {
    let mut after_singleton = false;
    let mut tag = String::new();
    for (at, part) in parts.iter().enumerate() {
        let mut part = part.to_ascii_lowercase();
        if at == 0
            && let Some(letters) = two_letters(&part)
        {
            part = letters.to_owned();
        }
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

/// Returns the two-letter code (ISO 639-1) for a three-letter code (ISO 639-2 T or B), if there is one.
fn two_letters(code: &str) -> Option<&'static str> {
    ISO_639_2.split(' ').find_map(|pair| pair.strip_prefix(code).filter(|letters| letters.len() == 2))
}

/// The three-letter and the two-letter code of each language that has both.
const ISO_639_2: &str = "\
    aaraa abkab afraf akaak albsq amham araar argan armhy asmas avaav aveae aymay azeaz bakba bambm baqeu belbe \
    benbn bisbi bodbo bosbs brebr bulbg burmy catca cescs chach chece chizh chucu chvcv corkw cosco crecr cymcy \
    czecs danda deude divdv dutnl dzodz ellel engen epoeo estet euseu eweee faofo fasfa fijfj finfi frafr frefr \
    fryfy fulff geoka gerde glagd glega glggl glvgv greel grngn gujgu hatht hauha hebhe herhz hinhi hmoho hrvhr \
    hunhu hyehy iboig iceis idoio iiiii ikuiu ileie inaia indid ipkik islis itait javjv jpnja kalkl kankn kasks \
    katka kaukr kazkk khmkm kikki kinrw kirky komkv konkg korko kuakj kurku laolo latla lavlv limli linln litlt \
    ltzlb lublu luglg macmk mahmh malml maomi marmr mayms mkdmk mlgmg mltmt monmn mrimi msams myamy nauna navnv \
    nblnr ndend ndong nepne nldnl nnonn nobnb norno nyany ocioc ojioj orior ormom ossos panpa perfa plipi polpl \
    porpt pusps quequ rohrm ronro rumro runrn rusru sagsg sansa sinsi slksk slosk slvsl smese smosm snasn sndsd \
    somso sotst spaes sqisq srdsc srpsr sswss sunsu swasw swesv tahty tamta tattt telte tgktg tgltl thath tibbo \
    tirti tonto tsntn tsots tuktk turtr twitw uigug ukruk urdur uzbuz venve vievi volvo welcy wlnwa wolwo xhoxh \
    yidyi yoryo zhaza zhozh zulzu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_text_has_at_most_ten_thousand_characters() {
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
            ("deu", "de"),
            ("GER-at", "de-AT"),
            ("fre", "fr"),
            ("zho-Hant", "zh-Hant"),
            ("zul", "zu"),
            ("aar", "aa"),
            ("gsw-CH", "gsw-CH"),
            ("UND", "und"),
        ] {
            assert_eq!(LanguageTag::new(sent).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn default_language_is_unknown() {
        assert_eq!(LanguageTag::default().as_str(), "und");
        assert!(!LanguageTag::default().is_known());
        assert!(LanguageTag::new("en").unwrap().is_known());
        assert!(ISO_639_2.split(' ').all(|pair| pair.len() == 5));
    }

    #[test]
    fn invalid_language_tag_is_rejected() {
        for bad in
            ["", "e", "x", "en_US", "en-", "-en", "en--US", "englishes", "e1", "en-verylongpart", "deütsch", "en US"]
        {
            assert!(LanguageTag::new(bad).is_err(), "{bad:?}");
        }
    }
}

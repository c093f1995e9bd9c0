//! The content codings that a client accepts (RFC 9110 §12.5.3).

use hyper::header::HeaderValue;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Zstandard.
    Zstd,
    /// Brotli.
    Brotli,
    /// gzip.
    Gzip,
}

impl Coding {
    /// Returns the name in `Accept-Encoding` and `Content-Encoding`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }
}

/// Returns the coding of `offered` with the greatest weight; the first one of several with the same weight. Returns
/// `None` if the client accepts none of them, or prefers no coding.
pub fn preferred<'a>(fields: impl IntoIterator<Item = &'a HeaderValue>, offered: &[Coding]) -> Option<Coding> {
    let fields: Vec<&str> = fields.into_iter().filter_map(|field| field.to_str().ok()).collect();
    let weight_of = |name: &str| {
        let codings = fields.iter().flat_map(|field| field.split(','));
        codings.filter_map(weighted).find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, weight)| weight)
    };
    let (any, identity) = (weight_of("*"), weight_of("identity"));
    let mut best: Option<(Coding, u16)> = None;
    for coding in offered {
        let weight = weight_of(coding.as_str()).or(any).unwrap_or(0);
        if weight > best.map_or(0, |(_, weight)| weight) {
            best = Some((*coding, weight));
        }
    }
    best.filter(|(_, weight)| identity.is_none_or(|identity| *weight >= identity)).map(|(coding, _)| coding)
}

/// Parses `name;q=0.5`. Returns the weight in thousandths; `None` for an invalid weight.
fn weighted(coding: &str) -> Option<(&str, u16)> {
    let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
    let weight = match parameters.trim().strip_prefix(['q', 'Q']) {
        None => 1_000,
        Some(weight) => {
            let weight = weight.trim_start().strip_prefix('=')?.trim().parse::<f32>().ok()?;
            (0.0..=1.0).contains(&weight).then(|| (weight * 1_000.0).round() as u16)?
        }
    };
    Some((name.trim(), weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greatest_weight_wins_and_the_order_of_the_server_decides_between_equal_weights() {
        const ALL: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];
        for (field, expected) in [
            ("", None),
            ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
            ("gzip, deflate, br", Some(Coding::Brotli)),
            ("GZIP", Some(Coding::Gzip)),
            ("gzip;q=1.0, br;q=0.8", Some(Coding::Gzip)),
            ("gzip; q=0.5, br ; q=0.8", Some(Coding::Brotli)),
            ("gzip;q=0", None),
            ("gzip;q=0.000, *;q=0", None),
            ("*", Some(Coding::Zstd)),
            ("*;q=0.1, zstd;q=0", Some(Coding::Brotli)),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0, gzip", Some(Coding::Gzip)),
            ("deflate, compress", None),
            ("gzip;q=2, br;q=x", None),
            ("gzip;q=", None),
            ("xgzip", None),
        ] {
            assert_eq!(preferred([&HeaderValue::from_static(field)], &ALL), expected, "{field}");
        }
        let two = [HeaderValue::from_static("br;q=0.1"), HeaderValue::from_static("gzip")];
        assert_eq!(preferred(&two, &ALL), Some(Coding::Gzip));
    }
}

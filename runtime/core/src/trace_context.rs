//! The position of a span in a distributed trace (W3C Trace Context, `traceparent`).

use std::fmt;

/// The ids of a span and the flags of its trace. Its `Display` is a `traceparent` of version 00.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace; never 0.
    pub trace_id: u128,
    /// The id of the span; never 0.
    pub span_id: u64,
    /// Bit 0: the trace is recorded.
    pub flags: u8,
}

impl TraceContext {
    /// Parses a `traceparent`. Returns `None` if the grammar is broken; the standard requires to ignore such a field.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let version = hexadecimal(text.get(..2)?)?;
        let ends = match version {
            0 => text.len() == 55,
            0xff => false,
            // A later version may append fields to those of version 00.
            _ => text.len() == 55 || text.get(55) == Some(&b'-'),
        };
        if !ends || [2, 35, 52].iter().any(|&dash| text.get(dash) != Some(&b'-')) {
            return None;
        }
        let trace_id = hexadecimal(&text[3..35])?;
        let span_id = u64::try_from(hexadecimal(&text[36..52])?).ok()?;
        let flags = u8::try_from(hexadecimal(&text[53..55])?).ok()?;
        (trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id, flags })
    }

    /// Returns true if the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

/// Parses lower case only, as the recommendation requires. The `hex` crate accepts both cases.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number: u128, digit| match digit {
        b'0'..=b'9' => Some(number << 4 | u128::from(digit - b'0')),
        b'a'..=b'f' => Some(number << 4 | u128::from(digit - b'a' + 10)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn valid_field_is_parsed_and_displayed() {
        let context = TraceContext::parse(EXAMPLE.as_bytes()).unwrap();
        assert_eq!(context.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((context.span_id, context.flags), (0x00f0_67aa_0ba9_02b7, 1));
        assert_eq!(context.to_string(), EXAMPLE);
        let later = EXAMPLE.replacen("00", "cc", 1) + "-more";
        assert_eq!(TraceContext::parse(later.as_bytes()), Some(context));
    }

    #[test]
    fn invalid_field_is_ignored() {
        for text in [
            "",
            "00",
            &EXAMPLE.to_uppercase(),
            &EXAMPLE.replacen("00", "ff", 1),
            &format!("{EXAMPLE}-more"),
            &EXAMPLE.replacen("00", "cc", 1).replace("-01", "-01more"),
            &EXAMPLE.replace("-01", "_01"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert_eq!(TraceContext::parse(text.as_bytes()), None, "{text}");
        }
    }
}

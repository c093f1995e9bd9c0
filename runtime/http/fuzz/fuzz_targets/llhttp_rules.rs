//! The ends of requests by the rules of llhttp in its strict mode. llhttp is the parser of Node.js and of proxies that
//! build on it.
//!
//! This reader follows llhttp's documentation and shares no code with the reader under test. It is simple because it
//! has all bytes.

/// Returns the ends of the complete requests at the beginning of `bytes`, up to the first one that llhttp rejects.
pub fn ends(bytes: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while let Some(end) = request(bytes, at) {
        ends.push(end);
        at = end;
    }
    ends
}

/// Returns a line that ends in CR LF, and the beginning of the next line.
fn line(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    (rest.get(end..end + 2)? == b"\r\n").then(|| (&rest[..end], at + end + 2))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The framing fields of a head.
#[derive(Default)]
struct FramingFields {
    length: Option<u64>,
    encodings: Vec<Vec<u8>>,
}

/// Reads fields up to the blank line. Returns `None` if llhttp rejects them or they are incomplete.
fn fields(bytes: &[u8], mut at: usize) -> Option<(FramingFields, usize)> {
    let mut found = FramingFields::default();
    loop {
        let (field, next) = line(bytes, at)?;
        at = next;
        if field.is_empty() {
            return Some((found, at));
        }
        let colon = field.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0)?;
        let (name, value) = (field[..colon].to_ascii_lowercase(), field[colon + 1..].trim_ascii());
        // A folded line begins with white space, which is not a token.
        if !name.iter().all(|byte| is_token(*byte)) || value.iter().any(|byte| *byte == 0x7f || (*byte < 0x20 && *byte != b'\t')) {
            return None;
        }
        match &name[..] {
            b"content-length" => {
                // llhttp rejects a second length, also an equal one.
                let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                if found.length.is_some() || !is_number {
                    return None;
                }
                found.length = Some(std::str::from_utf8(value).ok()?.parse().ok()?);
            }
            b"transfer-encoding" => found.encodings.push(value.to_ascii_lowercase()),
            _ => {}
        }
    }
}

/// Returns the end of a request that begins at `at`.
fn request(bytes: &[u8], mut at: usize) -> Option<usize> {
    while bytes.get(at..at + 2) == Some(b"\r\n") {
        at += 2;
    }
    let (first, next) = line(bytes, at)?;
    let mut parts = first.split(|byte| *byte == b' ');
    let (method, target, version) = (parts.next()?, parts.next()?, parts.next()?);
    let is_known = matches!(version, b"HTTP/1.1" | b"HTTP/1.0");
    if parts.next().is_some() || !is_known || target.is_empty() || method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return None;
    }
    let (fields, start) = fields(bytes, next)?;
    if fields.encodings.is_empty() {
        let length = usize::try_from(fields.length.unwrap_or(0)).ok()?;
        return start.checked_add(length).filter(|end| *end <= bytes.len());
    }
    // llhttp rejects a length together with an encoding, and a request whose last encoding is not `chunked`.
    let last = fields.encodings.last()?.rsplit(|byte| *byte == b',').next()?.trim_ascii();
    if fields.length.is_some() || last != b"chunked" {
        return None;
    }
    chunks(bytes, start)
}

/// Returns the end of a chunked body, after its trailers.
fn chunks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let (head, next) = line(bytes, at)?;
        let digits = head.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = usize::from_str_radix(std::str::from_utf8(&head[..digits]).ok()?, 16).ok()?;
        if !matches!(head.get(digits), None | Some(b';')) {
            return None;
        }
        if size == 0 {
            return fields(bytes, next).map(|(_, end)| end);
        }
        let end = next.checked_add(size)?;
        if bytes.get(end..end.checked_add(2)?)? != b"\r\n" {
            return None;
        }
        at = end + 2;
    }
}

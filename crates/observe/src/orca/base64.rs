//! Base64 as headers carry it: the standard alphabet, with padding (Envoy) or without (gRPC).

/// The bytes that `text` stands for. `None` for any other character, for padding that does not fit,
/// for a lone character at the end and for bits in the last one that stand for nothing.
pub(super) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut digits = text;
    if text.len().is_multiple_of(4) {
        let padded = text.strip_suffix(b"=").unwrap_or(text);
        digits = padded.strip_suffix(b"=").unwrap_or(padded);
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | value(*digit)?;
        }
        // What is missing of a group counts as zeros; one character is less than a byte.
        let count = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        let [_, group @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        let (whole, rest) = group.split_at_checked(count)?;
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(whole);
    }
    Some(bytes)
}

const fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_may_be_there_or_not() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("YQ", b"a"),
            ("YQ==", b"a"),
            ("YWI", b"ab"),
            ("YWI=", b"ab"),
            ("YWJj", b"abc"),
            ("YWJjZA==", b"abcd"),
            ("+/+/", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(decoded(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_stands_for_no_bytes_is_refused() {
        for text in [
            "Y", "YWJjZ", "YQ=", "Y===", "=", "====", "YQ==YQ==", "YW J", "YW-_", "YR==", "YWJ",
            "YWJj=", "Y\u{e9}", "YQ==\n",
        ] {
            assert_eq!(decoded(text.as_bytes()), None, "{text}");
        }
    }

    fn encoded(bytes: &[u8], padding: bool) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let bits = group
                .iter()
                .chain([&0; 2])
                .take(3)
                .fold(0, |bits, byte| bits << 8 | usize::from(*byte));
            for place in 0..4 {
                if place <= group.len() {
                    text.push(DIGITS[bits >> (18 - 6 * place) & 63] as char);
                } else if padding {
                    text.push('=');
                }
            }
        }
        text
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(bytes: Vec<u8>, padding: bool) {
            prop_assert_eq!(decoded(encoded(&bytes, padding).as_bytes()), Some(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text: Vec<u8>) {
            if let Some(bytes) = decoded(&text) {
                prop_assert!(bytes.len() <= text.len());
            }
        }
    }
}

//! What escapes stand for.

pub(super) fn digit(byte: u8) -> Option<u8> {
    Some(nibble(byte)).filter(|nibble| *nibble <= 0xf)
}

#[inline]
pub(super) fn nibble(byte: u8) -> u8 {
    NIBBLES.get(usize::from(byte)).copied().unwrap_or(NO_DIGIT)
}

/// What the letter behind a backslash means.
#[inline]
pub(super) fn meaning(letter: u8) -> Option<u8> {
    MEANINGS
        .get(usize::from(letter))
        .copied()
        .filter(|meant| *meant != NO_MEANING)
}

pub(super) const fn is_high(unit: u16) -> bool {
    matches!(unit, 0xd800..=0xdbff)
}

pub(super) const fn is_low(unit: u16) -> bool {
    matches!(unit, 0xdc00..=0xdfff)
}

/// The code point of a surrogate pair.
pub(super) const fn pair(high: u16, low: u16) -> u32 {
    0x10000 + (((high & 0x3ff) as u32) << 10 | (low & 0x3ff) as u32)
}

/// The bytes of a code point, and how many of them count. A surrogate is treated like its neighbours,
/// which `char` would refuse.
#[inline]
pub(super) const fn encoded(code: u32) -> ([u8; 4], usize) {
    let [.., high, low] = code.to_be_bytes();
    let third = 0x80 | (code >> 12 & 0x3f) as u8;
    let second = 0x80 | (code >> 6 & 0x3f) as u8;
    let first = 0x80 | low & 0x3f;
    match code {
        0..0x80 => ([low, 0, 0, 0], 1),
        0x80..0x800 => ([0xc0 | (code >> 6) as u8, first, 0, 0], 2),
        0x800..0x1_0000 => ([0xe0 | high >> 4, second, first, 0], 3),
        _ => ([0xf0 | (code >> 18) as u8, third, second, first], 4),
    }
}

const NO_DIGIT: u8 = 0xff;

/// The value of each digit.
const NIBBLES: [u8; 256] = nibbles();

const fn nibbles() -> [u8; 256] {
    let mut nibbles = [NO_DIGIT; 256];
    let mut rest: &mut [u8] = &mut nibbles;
    let mut byte = 0_u8;
    while let Some((nibble, others)) = rest.split_first_mut() {
        *nibble = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => NO_DIGIT,
        };
        byte = byte.wrapping_add(1);
        rest = others;
    }
    nibbles
}

const NO_MEANING: u8 = 0;

/// What each letter means behind a backslash. None means zero.
const MEANINGS: [u8; 256] = meanings();

const fn meanings() -> [u8; 256] {
    let mut meanings = [NO_MEANING; 256];
    let mut rest: &mut [u8] = &mut meanings;
    let mut letter = 0_u8;
    while let Some((meant, others)) = rest.split_first_mut() {
        *meant = match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            _ => NO_MEANING,
        };
        letter = letter.wrapping_add(1);
        rest = others;
    }
    meanings
}

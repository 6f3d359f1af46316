//! Text that looks like words and has a known number of tokens.

use pointsman_domain::units::BYTES_PER_TOKEN;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

/// Text of `tokens` tokens, counted as the picker and the engine stand-in count them: by bytes.
pub(super) fn words(tokens: u32, rng: &mut Pcg64Mcg) -> String {
    let length = usize::try_from(u64::from(tokens) * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(length + WORD_BYTES_MAX);
    while text.len() < length {
        for _ in 0..rng.random_range(SYLLABLES_MIN..=SYLLABLES_MAX) {
            text.push(letter(CONSONANTS, rng));
            text.push(letter(VOWELS, rng));
        }
        text.push(' ');
    }
    text.truncate(length);
    text
}

fn letter(letters: &str, rng: &mut Pcg64Mcg) -> char {
    let index = rng.random_range(0..letters.len());
    letters.chars().nth(index).unwrap_or('a')
}

const CONSONANTS: &str = "bdfgklmnprstvz";
const VOWELS: &str = "aeiou";
const SYLLABLES_MIN: u32 = 1;
const SYLLABLES_MAX: u32 = 4;
const WORD_BYTES_MAX: usize = 2 * SYLLABLES_MAX as usize + 1;

//! Scanning bytes eight at a time within a machine word. Each detector sets the high bit of the bytes it
//! looks for; a borrow can set it in bytes above a hit as well, so only the lowest hit of a word is exact,
//! and that is the only one used.

#![forbid(unsafe_code)]

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `at`, the first one lowest.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

#[inline]
fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(bound)) & !word & HIGH_BITS
}

#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

#[inline]
fn first(hits: u64) -> usize {
    (hits.trailing_zeros() / 8) as usize
}

/// Where the plain part of a string ends: the first quote, backslash or control character from `at` on.
#[inline]
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let hits = below(word, 0x20) | equal(word, b'"') | equal(word, b'\\');
        if hits != 0 {
            return at + first(hits);
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        at += 1;
    }
    at
}

/// The first quote or bracket of any kind from `at` on.
#[inline]
pub(super) fn structure_start(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        // Square brackets differ from curly ones in one bit.
        let folded = word | (ONES * 0x20);
        let hits = equal(word, b'"') | equal(folded, b'{') | equal(folded, b'}');
        if hits != 0 {
            return at + first(hits);
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'{' | b'[' | b'}' | b']')) {
        at += 1;
    }
    at
}

/// The first byte from `at` on that is no white space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at).is_some_and(|&byte| byte > b' ') { at } else { skip_spaces(bytes, at) }
}

#[inline]
fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\r' | b'\t' => at += 1,
            b'\n' => {
                at += 1;
                // Indentation.
                while word(bytes, at) == Some(ONES * 0x20) {
                    at += 8;
                }
            }
            _ => break,
        }
    }
    at
}

//! Random JSON documents, and what damages them.

use proptest::prelude::*;

/// White space that may stand between tokens.
pub fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 2 => Just(" "), 1 => Just("\n        \t"), 1 => Just("\r\n")]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[a-c]{0,3}",
        2 => "[ -!#-\\[\\]-~]{0,40}",
        1 => "\\PC{0,3}".prop_map(|text| text.replace(['"', '\\'], "")),
        3 => prop::sample::select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\u0061", "\\u0000", "\\u00E9", "\u{e9}", "\\ud83d\\ude00", "\u{1f600}", "\u{7f}",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn key() -> impl Strategy<Value = String> {
    let few = vec![
        "\"a\"",
        "\"\\u0061\"",
        "\"b\"",
        "\"\"",
        "\"a long key, longer than a word\"",
        "\"a long key, longer th\\u0061n a word\"",
    ];
    prop_oneof![1 => prop::sample::select(few).prop_map(str::to_owned), 3 => string()]
}

/// Well-formed documents, some of them with duplicate keys.
pub fn document() -> impl Strategy<Value = String> {
    // serde_json would respell other exponents.
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?(e[+-][0-9]{1,3})?";
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false", "{}", "[]", "[ ]"]).prop_map(str::to_owned),
        number,
        string(),
    ];
    leaf.prop_recursive(5, 40, 8, |inner| {
        let element = (space(), inner.clone(), space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let member = (space(), key(), space(), space(), inner, space())
            .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
        prop_oneof![
            prop::collection::vec(element, 1..8).prop_map(|elements| format!("[{}]", elements.join(","))),
            prop::collection::vec(member, 1..8).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// Pieces that texts are made of, and damaged with.
pub const FRAGMENTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    "false",
    "0",
    "1",
    "-",
    ".",
    "e",
    "E",
    "+",
    " ",
    "\n",
    "\"a\"",
    "\"a\":",
    "{\"a\":1}",
    "[1]",
    "\\u",
    "\\ud83d",
    "\\ude00",
    "\\u0041",
    "\\n",
    "\t",
    "\u{0}",
    "\u{1f}",
    "\u{feff}",
    "\u{e9}",
    "\u{1f600}",
    "tru",
    "01",
    "1.5e+3",
    "\"\\ud83d\\ude00\"",
    "12345678",
    "abcdefgh",
];

/// A document, and the same with some of it cut out and fragments put in.
pub fn damaged() -> impl Strategy<Value = (String, String)> {
    let damage = (any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(FRAGMENTS));
    (document(), prop::collection::vec(damage, 1..4)).prop_map(|(text, damages)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (place, removed, fragment) in damages {
            let start = place.index(characters.len() + 1);
            let end = (start + removed).min(characters.len());
            characters.splice(start..end, fragment.chars());
        }
        (text, characters.into_iter().collect())
    })
}

//! The JSON boundary from outside: what is accepted, what is refused and why, and agreement with `serde_json`
//! on texts made of fragments and of damaged documents; then what is read from accepted texts.

mod agreement;
mod documents;
mod values;

use std::fmt::Write as _;

use taskhold::error::{Error, Reason, Status};
use taskhold::json::{self, Value};

const NO_LIMIT: u64 = u64::MAX;

fn refusal(text: &str) -> Error {
    match json::parse(text, NO_LIMIT) {
        Ok(_) => panic!("accepted: {text:.80}"),
        Err(error) => error,
    }
}

fn accepted(text: &str) -> Value<'_> {
    json::parse(text, NO_LIMIT).unwrap_or_else(|error| panic!("refused: {text:.80}: {:?}", error.reason()))
}

#[test]
fn well_formed_texts_are_accepted_and_kept() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-12.50",
        "0.0e-0",
        "1E+2",
        "1e999",
        "\"\"",
        "{}",
        "[]",
        "[[],{}]",
        "[ ]",
        "{ }",
        r#"{"":""}"#,
        r#"{"b":1,"a":2}"#,
        r#"{ "a" : [ 1 , 2 ] , "b" : null }"#,
        r#""\ud83d\ude00""#,
        r#""\uD83D\uDE00""#,
        r#""a\u0000b""#,
        r#""\\u0000""#,
        r#""\"\\\/\b\f\n\r\t""#,
        "\"\u{7f}\u{80}\u{2028}\u{feff}\u{1f600}\"",
        r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":1,"A":2,"\u0062":3}"#,
        r#"["\udbff\udfff"]"#,
    ] {
        assert_eq!(accepted(text).text(), text);
        let spaced = format!(" \t\r\n{text}\n\n ");
        assert_eq!(accepted(&spaced).text(), text);
    }
    let digits = "9".repeat(400);
    assert_eq!(accepted(&digits).text(), digits);
}

#[test]
fn malformed_texts_are_refused() {
    for text in [
        "",
        " ",
        "\u{feff}{}",
        "{}\u{feff}",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "1.e5",
        "0x10",
        "1 2",
        "{} {}",
        "[",
        "]",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{]",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{,"a":1}"#,
        r#"{"a" 1}"#,
        "{a:1}",
        "{1:1}",
        "'a'",
        "\"",
        "\"a",
        "\"\\\"",
        r#""\x""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\U0041""#,
        r#""\ud83d\u12""#,
        "\"a\nb\"",
        "\"\t\"",
        "\"\u{0}\"",
        "\"\u{1f}\"",
        "\u{0}",
        "null\u{0}",
        "\u{a0}1",
        "\u{c}1",
        "// c\n1",
        "/**/1",
        r#"{"a":1}}"#,
        "[[1]",
        r#"[{"a":[}]"#,
        "tru",
        "f",
        "\"aaaaaaaaaaaaaaaa\u{1}aaaaaaaaaaaaa\"",
    ] {
        let error = refusal(text);
        assert_eq!(
            (error.reason(), error.status()),
            (Reason::InvalidJson, Status::InvalidArgument),
            "{text:?}"
        );
    }
}

#[test]
fn lone_surrogates_are_refused() {
    for text in [
        r#""\ud800""#,
        r#""\udc00x""#,
        r#""\udc00\ud800""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#""\ud83d\ud83d\ude00""#,
        r#""\uDFFF""#,
        r#""\ud83d\u0041""#,
        r#"{"\ud800":1}"#,
        r#"[1,{"a":["\ude00"]}]"#,
        r#""\ud800\\udc00""#,
    ] {
        assert_eq!(refusal(text).reason(), Reason::LoneSurrogate, "{text}");
    }
}

#[test]
fn duplicate_keys_are_found_by_decoded_name() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"\u0061":1,"a":2}"#,
        r#"{"":1,"":2}"#,
        r#"{"x":{"a":1,"b":{},"a":2}}"#,
        r#"[0,{"a":1,"b":{"a":1},"a":2}]"#,
        r#"{"a\n":1,"b":2,"a\u000a":2}"#,
        r#"{"\ud83d\ude00":1,"😀":2}"#,
        r#"{"\/":1,"/":2}"#,
        r#"{"a\u0000":1,"a\u0000":2}"#,
        r#"{"long key with a tail":1,"long key with a tail":2}"#,
        r#"{"a":{"b":1,"c":[{"b":1}],"d":{"b":{"b":2}}},"b":{"a":1},"a":0}"#,
    ] {
        let error = refusal(text);
        assert_eq!(
            (error.reason(), error.status()),
            (Reason::DuplicateKey, Status::InvalidArgument),
            "{text}"
        );
    }
    accepted(r#"{"a":1,"a\u0000":2,"aa":3,"":4,"a ":5,"long key with a tail":6,"long key with a tale":7}"#);
}

fn object_of(keys: impl Iterator<Item = String>) -> String {
    let mut text = String::from("{");
    for (index, key) in keys.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}\"{key}\":{index}").unwrap();
    }
    text.push('}');
    text
}

#[test]
fn duplicates_among_many_keys_are_found() {
    for count in [2_usize, 16, 17, 31, 32, 33, 34, 40, 41, 100, 1000] {
        let keys = || (0..count).map(|index| format!("key number {index}"));
        let object = object_of(keys());
        accepted(&object);
        for twice in [0, count / 2, count - 1] {
            for spelling in ["key number", "key \\u006eumber"] {
                let text = object_of(keys().chain([format!("{spelling} {twice}")]));
                assert_eq!(refusal(&text).reason(), Reason::DuplicateKey, "{count} {twice} {spelling}");
                // Within another object with many keys, and after others like it have been closed.
                let around = object_of(keys()).replacen(":0", &format!(":[{object},{text}]"), 1);
                assert_eq!(refusal(&around).reason(), Reason::DuplicateKey, "{count} {twice} {spelling}");
            }
        }
        // What is in between does not make an object forget its keys.
        let rows = [object.as_str(); 5].join(",");
        accepted(&object.replacen(":0", &format!(":[{rows}]"), 1));
        let twice = object_of(keys().chain(["key number 0".to_owned()]));
        let around = twice.replacen(":0", &format!(":[{rows}]"), 1);
        assert_eq!(refusal(&around).reason(), Reason::DuplicateKey, "{count}");
    }
}

#[test]
fn keys_that_look_alike_are_told_apart() {
    // Same length, first and last bytes.
    let keys = || (0..100).map(|index| format!("same head {index:04} same tail"));
    for count in [2, 3, 20, 100] {
        accepted(&object_of(keys().take(count)));
        for twice in [0, count - 1] {
            let again = keys().nth(twice).unwrap();
            let text = object_of(keys().take(count).chain([again.replace("tail", "\\u0074ail")]));
            assert_eq!(refusal(&text).reason(), Reason::DuplicateKey, "{count} {twice}");
        }
    }
    // Every length around the eight bytes that are looked at together, at both ends of a text.
    for length in 0..20 {
        let key = "abcdefghijklmnopqrst".get(..length).unwrap();
        let escaped = key.replace('a', "\\u0061");
        for (one, other) in [(key, key), (&escaped[..], key), (key, &escaped[..]), (&escaped, &escaped)] {
            assert_eq!(refusal(&format!("{{\"{one}\":1,\"{other}\":2}}")).reason(), Reason::DuplicateKey);
        }
        accepted(&format!("{{\"{key}\":1,\"{key}!\":2,\"?{key}\":3,\"{key}\\u0000\":4}}"));
    }
}

#[test]
fn a_hundred_thousand_keys_take_linear_work() {
    // Comparing each with each would be 5,000,000,000 comparisons of long keys.
    let keys = || (0..100_000).map(|index| format!("a key of some length {index:08} and a tail"));
    accepted(&object_of(keys()));
    let text = object_of(keys().chain(keys().take(1)));
    assert_eq!(refusal(&text).reason(), Reason::DuplicateKey);
}

#[test]
fn sizes_are_bounded_before_anything_is_read() {
    for text in ["[1,2,3]", "not JSON", ""] {
        let length = text.len() as u64;
        let at_limit = json::parse(text, length);
        assert!(at_limit.is_ok() || at_limit.is_err_and(|error| error.reason() == Reason::InvalidJson));
        if let Some(limit) = length.checked_sub(1) {
            let error = json::parse(text, limit).unwrap_err();
            assert_eq!((error.reason(), error.status()), (Reason::PayloadTooLarge, Status::LimitExceeded));
            assert_eq!(error.limit(), Some(limit));
        }
    }
}

#[test]
fn bytes_must_be_utf8() {
    for bytes in [
        &b"\"\xED\xA0\x80\""[..],
        b"\"\xC3",
        b"\xFF",
        b"\"\xC0\x80\"",
        b"\"\xF4\x90\x80\x80\"",
        b"{}\xEF\xBB",
    ] {
        let error = json::parse_bytes(bytes, NO_LIMIT).unwrap_err();
        assert_eq!((error.reason(), error.status()), (Reason::InvalidUtf8, Status::InvalidArgument));
    }
    assert_eq!(json::parse_bytes(b"\xEF\xBB\xBF{}", NO_LIMIT).unwrap_err().reason(), Reason::InvalidJson);
    assert_eq!(json::parse_bytes(b" [\"\xC3\xA9\"] ", NO_LIMIT).unwrap().text(), "[\"\u{e9}\"]");
}

#[test]
fn refusals_say_nothing_of_the_text() {
    for text in ["{\"secret\":1,\"secret\":2}", "[\"secret\"", "{\"secret\":\"\\ud800\"}", &"[".repeat(129)] {
        let refusal = format!("{:?}", refusal(text));
        assert!(!refusal.contains("secret") && !refusal.contains("[["), "{refusal}");
    }
}

#[test]
fn nesting_is_bounded_without_recursion() {
    let run = || {
        let arrays = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = |depth: usize| format!("{}{{}}{}", "{\"a\":".repeat(depth - 1), "}".repeat(depth - 1));
        let both = |depth: usize| format!("{}0{}", "[{\"a\":".repeat(depth / 2), "}]".repeat(depth / 2));
        for text in [arrays(128), objects(128), both(128)] {
            accepted(&text);
        }
        for text in [
            arrays(129),
            objects(129),
            both(130),
            arrays(1_000_000),
            objects(1_000_000),
            both(1_000_000),
            "[".repeat(1_000_000),
            "{\"a\":".repeat(1_000_000),
            "[1,".repeat(1_000_000),
            "[".repeat(129),
        ] {
            let error = refusal(&text);
            assert_eq!((error.reason(), error.status()), (Reason::NestingTooDeep, Status::LimitExceeded));
            assert_eq!(error.limit(), Some(128));
        }
        // Depth is what is open at one place, not how many containers there are.
        accepted(&format!("[{}0]", "[],{\"a\":[[]]},".repeat(1000)));
    };
    std::thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap().join().unwrap();
}

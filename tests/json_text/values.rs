//! What is read from validated texts, against trees that `serde_json` parsed; and that texts which were never
//! validated do no harm.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value as Tree;
use taskhold::error::{Reason, Status};
use taskhold::json::{self, Kind, Value, offset_in};

use crate::documents::{FRAGMENTS, damaged, document};
use crate::{NO_LIMIT, accepted, object_of};

#[test]
fn scalars() {
    let kind = |text| accepted(text).kind();
    assert_eq!(
        ["null", "true", "false", "-1", "0", "\"\"", "[]", "{}"].map(kind),
        [
            Kind::Null,
            Kind::Bool,
            Kind::Bool,
            Kind::Number,
            Kind::Number,
            Kind::String,
            Kind::Array,
            Kind::Object
        ]
    );
    assert!(accepted(" null ").is_null() && !accepted("\"null\"").is_null());
    assert_eq!(
        ["true", "false", "null", "\"true\"", "1"].map(|text| accepted(text).as_bool()),
        [Some(true), Some(false), None, None, None]
    );
    for (text, signed, unsigned) in [
        ("0", Some(0), Some(0)),
        ("-0", Some(0), Some(0)),
        ("42", Some(42), Some(42)),
        ("-42", Some(-42), None),
        ("9223372036854775807", Some(i64::MAX), Some(9_223_372_036_854_775_807)),
        ("9223372036854775808", None, Some(9_223_372_036_854_775_808)),
        ("-9223372036854775808", Some(i64::MIN), None),
        ("-9223372036854775809", None, None),
        ("18446744073709551615", None, Some(u64::MAX)),
        ("18446744073709551616", None, None),
        ("1.0", None, None),
        ("1e2", None, None),
        ("-0.0", None, None),
        ("\"1\"", None, None),
        ("true", None, None),
        ("[1]", None, None),
    ] {
        assert_eq!((accepted(text).as_i64(), accepted(text).as_u64()), (signed, unsigned), "{text}");
    }
}

#[test]
fn strings_are_decoded() {
    for (text, decoded) in [
        (r#""""#, ""),
        (r#""plain é""#, "plain é"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u0000b""#, "a\0b"),
        (r#""\\u0000""#, "\\u0000"),
        (r#""\u00e9\u00E9\u20ac\uFFFF""#, "\u{e9}\u{e9}\u{20ac}\u{ffff}"),
        (r#""x\ud83d\ude00y\uD83D\uDE00""#, "x\u{1f600}y\u{1f600}"),
        (r#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10ffff}"),
        (r#""\\\\\"""#, "\\\\\""),
    ] {
        assert_eq!(accepted(text).as_str().as_deref(), Some(decoded), "{text}");
    }
    assert!(matches!(accepted(r#""plain é""#).as_str(), Some(Cow::Borrowed(_))));
    assert_eq!(["1", "null", "[\"a\"]"].map(|text| accepted(text).as_str()), [None, None, None]);
}

#[test]
fn members_are_found_by_decoded_name() {
    let text =
        r#"{ "a" : 1, "\u0062":[2], "a\\b":3, "\"":4, "":5, "é":6, "nested":{"a":7, "deep":[{"x":"}"}]} }"#;
    let value = accepted(text);
    for (name, found) in [
        ("a", "1"),
        ("b", "[2]"),
        ("a\\b", "3"),
        ("\"", "4"),
        ("", "5"),
        ("é", "6"),
        ("nested", r#"{"a":7, "deep":[{"x":"}"}]}"#),
    ] {
        assert_eq!(value.get(name).map(Value::text), Some(found), "{name}");
    }
    for absent in ["\\u0062", "a\\\\b", "x", "A", " a", "deep", "\\\""] {
        assert!(value.get(absent).is_none(), "{absent}");
    }
    let keys: Vec<_> = value.members().map(|member| member.key()).collect();
    assert_eq!(keys, ["a", "b", "a\\b", "\"", "", "é", "nested"]);
    let raw_keys: Vec<_> = value.members().map(|member| member.raw_key).collect();
    assert_eq!(raw_keys[1..4], [r#""\u0062""#, r#""a\\b""#, r#""\"""#]);
    assert_eq!(accepted("[1]").members().count() + accepted("\"{}\"").members().count(), 0);
    assert_eq!(value.elements().count(), 0);
    let at = offset_in(text, value.get("nested").unwrap().get("a").unwrap().text());
    assert_eq!(text.get(at..=at), Some("7"));
    assert_eq!(offset_in(text, value.members().nth(1).unwrap().raw_key), 11);
}

#[test]
fn pointers_name_values() {
    // The examples of RFC 6901, and the corners around them.
    let text = r#"{"foo": ["bar", "baz", [0, {"x": null}]], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
        "k\"l": 6, " ": 7, "m~n": 8, "~1": 9, "0": {"01": 10, "-": 11}, "\u00e9": 12}"#;
    let value = accepted(text);
    for (pointer, found) in [
        ("", Some(text)),
        ("/foo", Some(r#"["bar", "baz", [0, {"x": null}]]"#)),
        ("/foo/0", Some("\"bar\"")),
        ("/foo/2/1/x", Some("null")),
        ("/", Some("0")),
        ("/a~1b", Some("1")),
        ("/c%d", Some("2")),
        ("/e^f", Some("3")),
        ("/g|h", Some("4")),
        ("/i\\j", Some("5")),
        ("/k\"l", Some("6")),
        ("/ ", Some("7")),
        ("/m~0n", Some("8")),
        ("/~01", Some("9")),
        ("/0/01", Some("10")),
        ("/0/-", Some("11")),
        ("/é", Some("12")),
        ("/foo/-", None),
        ("/foo/3", None),
        ("/foo/00", None),
        ("/foo/01", None),
        ("/foo/+1", None),
        ("/foo/-1", None),
        ("/foo/1e0", None),
        ("/foo/", None),
        ("/foo/ 1", None),
        ("/foo/\u{661}", None),
        ("/foo/99999999999999999999999999", None),
        ("/foo/0/x", None),
        ("/foo/0/", None),
        ("//", None),
        ("/absent/deeper", None),
    ] {
        assert_eq!(value.pointer(pointer).unwrap().map(Value::text), found, "{pointer}");
    }
    for malformed in ["foo", " /foo", "#/foo", "/~", "/~2", "/foo/~", "/absent/~a/x", "/m~n", "/~~0"] {
        let error = value.pointer(malformed).unwrap_err();
        assert_eq!((error.reason(), error.status()), (Reason::InvalidValue, Status::InvalidArgument));
        assert_eq!(error.key(), Some("pointer"), "{malformed}");
    }
}

#[test]
fn meaning_is_compared() {
    for (one, other, same) in [
        (r#"{"a":1,"b":2}"#, r#"{ "b" : 2, "a" : 1 }"#, true),
        (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, false),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#, false),
        (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#, false),
        (r#"{"\u0061":"\u00e9"}"#, r#"{"a":"é"}"#, true),
        (r#"{"\u0061":1,"b":2}"#, r#"{"b":2,"a":1}"#, true),
        (r#""a\/b""#, r#""a/b""#, true),
        (r#""a""#, r#""b""#, false),
        (r#""\n""#, r#""\\n""#, false),
        ("1.0", "1", false),
        ("1e2", "1E2", false),
        ("-0", "0", false),
        ("null", "false", false),
        ("1", "\"1\"", false),
        ("[]", "{}", false),
        ("[1,2]", "[2,1]", false),
        ("[1,2]", "[1,2,3]", false),
        ("[1,2,3]", "[1,2]", false),
        ("[ ]", "[]", true),
        (r#"[{"a":[{"b":1,"c":2}]},"x"]"#, r#"[{"a":[{"c":2, "b":1}]} ,"x"]"#, true),
        (r#"[{"a":[{"b":1,"c":2}]},"x"]"#, r#"[{"a":[{"c":2, "b":3}]} ,"x"]"#, false),
    ] {
        assert_eq!(accepted(one).same_meaning(accepted(other)), same, "{one} {other}");
        assert_eq!(accepted(other).same_meaning(accepted(one)), same, "{other} {one}");
    }
}

#[test]
fn many_members_in_another_order_are_compared_in_little_work() {
    let members = |reverse: bool| {
        let mut members: Vec<_> =
            (0..100_000).map(|index| format!("\"a long key {index:08}\":[{index}]")).collect();
        if reverse {
            members.reverse();
        }
        format!("{{{}}}", members.join(","))
    };
    let (one, other) = (members(false), members(true));
    assert!(accepted(&one).same_meaning(accepted(&other)));
    let changed = other.replace("[50000]", "[50001]");
    assert!(!accepted(&one).same_meaning(accepted(&changed)));
}

#[test]
fn deep_values_are_read_on_a_small_stack() {
    let run = || {
        let nested = |space: &str| {
            format!("{}{{\"y\":1,\"x\":2}}{}", format!("[{{\"a\":{space}").repeat(63), "}]".repeat(63))
        };
        let (one, other) = (nested(""), nested(" ").replace("\"y\":1,\"x\":2", "\"x\":2,\"y\":1"));
        assert!(accepted(&one).same_meaning(accepted(&other)));
        assert!(!accepted(&one).same_meaning(accepted(&other.replace('2', "3"))));
        let pointer = "/0/a".repeat(63) + "/x";
        assert_eq!(accepted(&one).pointer(&pointer).unwrap().and_then(Value::as_u64), Some(2));
        // Deeper than what validation lets through.
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(Value::trusted(&deep).elements().count(), 1);
    };
    std::thread::Builder::new().stack_size(128 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn objects_with_many_members_are_walked() {
    let text = object_of((0..1000).map(|index| format!("key {index}")));
    let value = accepted(&text);
    assert_eq!(value.members().count(), 1000);
    assert_eq!(value.get("key 999").and_then(Value::as_u64), Some(999));
    assert!(value.get("key 1000").is_none());
}

/// The same values in the same order, all the way down; and every member and element is found by name.
fn assert_reads_as(value: Value<'_>, tree: &Tree) {
    match tree {
        Tree::Null => assert!(value.is_null()),
        Tree::Bool(boolean) => assert_eq!(value.as_bool(), Some(*boolean)),
        Tree::Number(number) => {
            assert_eq!(value.kind(), Kind::Number);
            assert_eq!(value.text(), number.to_string());
        }
        Tree::String(string) => assert_eq!(value.as_str().as_deref(), Some(&string[..])),
        Tree::Array(elements) => {
            assert_eq!((value.kind(), value.elements().count()), (Kind::Array, elements.len()));
            for (index, (element, tree)) in value.elements().zip(elements).enumerate() {
                assert_reads_as(element, tree);
                let named = value.pointer(&format!("/{index}")).unwrap().unwrap();
                assert_eq!(offset_in(value.text(), named.text()), offset_in(value.text(), element.text()));
            }
        }
        Tree::Object(members) => {
            assert_eq!((value.kind(), value.members().count()), (Kind::Object, members.len()));
            for (member, (key, tree)) in value.members().zip(members) {
                assert_eq!(member.key(), &key[..]);
                assert_reads_as(member.value, tree);
                let token = key.replace('~', "~0").replace('/', "~1");
                for named in [value.get(key), value.pointer(&format!("/{token}")).unwrap()] {
                    let offset = offset_in(value.text(), named.unwrap().text());
                    assert_eq!(offset, offset_in(value.text(), member.value.text()));
                }
            }
        }
    }
}

/// Reads everything there is, however wrong; gives the number of values met.
fn read_all(value: Value<'_>) -> usize {
    let _ = (value.kind(), value.as_bool(), value.as_i64(), value.as_u64(), value.as_str());
    assert!(value.same_meaning(value));
    let members = value.members().map(|member| member.key().len().min(1) + read_all(member.value));
    1 + members.sum::<usize>() + value.elements().map(read_all).sum::<usize>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn values_read_as_serde_json_reads_them(text in document()) {
        if let Ok(value) = json::parse(&text, NO_LIMIT) {
            assert_reads_as(value, &serde_json::from_str(&text).unwrap());
        }
    }

    #[test]
    fn meaning_is_what_parsed_trees_say((one, other) in damaged()) {
        if let (Ok(ours), Ok(theirs)) = (json::parse(&one, NO_LIMIT), json::parse(&other, NO_LIMIT)) {
            let trees = [&one, &other].map(|text| serde_json::from_str::<Tree>(text).unwrap());
            // Damage can make an exponent that serde_json respells.
            prop_assume!(accepted(&reversed(&trees[1])).same_meaning(theirs));
            prop_assert_eq!(ours.same_meaning(theirs), trees[0] == trees[1]);
        }
    }

    #[test]
    fn respelled_values_mean_the_same(text in document()) {
        if let Ok(value) = json::parse(&text, NO_LIMIT) {
            let respelled = reversed(&serde_json::from_str(&text).unwrap());
            prop_assert!(value.same_meaning(accepted(&respelled)), "{} {}", text, respelled);
            let changed = respelled.replace("null", "false");
            prop_assert_eq!(value.same_meaning(accepted(&changed)), changed == respelled);
        }
    }

    #[test]
    fn texts_that_were_never_validated_do_no_harm(
        text in prop_oneof![
            damaged().prop_map(|(_, text)| text),
            prop::collection::vec(prop::sample::select(FRAGMENTS), 0..12).prop_map(|parts| parts.concat()),
            "[\\[{].{0,30}",
        ],
        name in "[a-c]?",
    ) {
        let value = Value::trusted(&text);
        prop_assert!(read_all(value) <= 1 + text.len() * text.len());
        let _ = (value.get(&name), value.pointer("/0/a/1"), value.same_meaning(Value::trusted("[1,{\"a\":2}]")));
    }
}

/// A tree as text, with the members of objects in reverse order and every ASCII letter of strings escaped.
fn reversed(tree: &Tree) -> String {
    match tree {
        Tree::String(string) => respelled(string),
        Tree::Array(elements) => {
            format!("[{}]", elements.iter().map(reversed).collect::<Vec<_>>().join(" , "))
        }
        Tree::Object(members) => {
            let members =
                members.iter().rev().map(|(key, value)| format!("{}: {}", respelled(key), reversed(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

fn respelled(string: &str) -> String {
    let units = string.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
    format!("\"{}\"", units.collect::<String>())
}

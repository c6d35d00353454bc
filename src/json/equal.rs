//! Equality of meaning. Pairs that are still to be compared lie on a list of their own, so that the depth of
//! the values does not matter to the thread's stack.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::decode::same_decoded;
use super::{Kind, Members, Value};

/// Whether the values mean the same: the order of members does not count, strings and keys compare decoded,
/// numbers by their text.
pub(super) fn same_meaning(one: Value<'_>, other: Value<'_>) -> bool {
    let mut open = Vec::new();
    if !same_so_far(one, other, &mut open) {
        return false;
    }
    while let Some((one, other)) = open.pop() {
        let same = match one.kind() {
            Kind::Array => same_elements(one, other, &mut open),
            _ => same_members(one, other, &mut open),
        };
        if !same {
            return false;
        }
    }
    true
}

type Pairs<'a, 'b> = Vec<(Value<'a>, Value<'b>)>;

/// Compares what can be compared at once; containers of one kind go to the list.
fn same_so_far<'a, 'b>(one: Value<'a>, other: Value<'b>, open: &mut Pairs<'a, 'b>) -> bool {
    if one.text() == other.text() {
        return true;
    }
    match (one.kind(), other.kind()) {
        (Kind::String, Kind::String) => same_string(one.text(), other.text()),
        (Kind::Array, Kind::Array) | (Kind::Object, Kind::Object) => {
            open.push((one, other));
            true
        }
        _ => false,
    }
}

/// Compares two strings whose quotes are still on.
fn same_string(one: &str, other: &str) -> bool {
    one == other || ((one.contains('\\') || other.contains('\\')) && same_decoded(one, other))
}

fn same_elements<'a, 'b>(one: Value<'a>, other: Value<'b>, open: &mut Pairs<'a, 'b>) -> bool {
    let (mut ours, mut theirs) = (one.elements(), other.elements());
    loop {
        match (ours.next(), theirs.next()) {
            (Some(our), Some(their)) if same_so_far(our, their, open) => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

fn same_members<'a, 'b>(one: Value<'a>, other: Value<'b>, open: &mut Pairs<'a, 'b>) -> bool {
    let (mut ours, mut theirs) = (one.members(), other.members());
    loop {
        let rest = (ours.clone(), theirs.clone());
        match (ours.next(), theirs.next()) {
            (Some(our), Some(their)) if same_string(our.raw_key, their.raw_key) => {
                if !same_so_far(our.value, their.value, open) {
                    return false;
                }
            }
            (Some(_), Some(_)) => return same_in_any_order(rest.0, rest.1, open),
            (None, None) => return true,
            _ => return false,
        }
    }
}

fn same_in_any_order<'a, 'b>(ours: Members<'a>, theirs: Members<'b>, open: &mut Pairs<'a, 'b>) -> bool {
    let (ours, theirs) = (sorted(ours), sorted(theirs));
    ours.len() == theirs.len()
        && ours
            .into_iter()
            .zip(theirs)
            .all(|((our_key, our), (their_key, their))| our_key == their_key && same_so_far(our, their, open))
}

fn sorted(members: Members<'_>) -> Vec<(Cow<'_, str>, Value<'_>)> {
    let mut sorted: Vec<_> = members.map(|member| (member.key(), member.value)).collect();
    sorted.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    sorted
}

//! Cutting history and artifacts out of a task's text by the byte spans found at save: nothing is parsed, and
//! what stays is the same bytes. A member that goes takes one comma with it; `id` and `status` are required, so
//! an object never becomes empty by this.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::store::{A2aListed, ArrayIndex};
use crate::text::Text;

/// How much of a task is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The last so many messages of the history, without the member when 0; `None` is all of it.
    pub history: Option<usize>,
    /// Whether the artifacts are shown.
    pub artifacts: bool,
}

/// What is left of a text after at most two cuts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces<'a>([&'a str; 3]);

impl Pieces<'_> {
    /// Bytes of all pieces together.
    pub fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    /// Appends the pieces.
    pub fn push_to(&self, text: &mut Text) {
        for piece in self.0 {
            text.push_str(piece);
        }
    }
}

/// The part of a row's task that `view` shows.
pub(crate) fn pieces(row: A2aListed<'_>, view: View) -> Pieces<'_> {
    let history = row.history;
    let artifacts = row.artifacts.filter(|_| !view.artifacts);
    let history_first = match (history, artifacts) {
        (Some(history), Some(artifacts)) => history.member_start < artifacts.member_start,
        _ => true,
    };
    let text = row.task;
    let cut_history = |behind| history.and_then(|index| history_cut(text, index, view.history, behind));
    let cut_artifacts = |behind| artifacts.map(|index| member_cut(text, index, behind));
    let nothing = 0..0;
    let (first, second) = if history_first {
        let first = cut_history(0).unwrap_or(nothing);
        let second = cut_artifacts(first.end);
        (first, second)
    } else {
        let first = cut_artifacts(0).unwrap_or(nothing);
        let second = cut_history(first.end);
        (first, second)
    };
    let second = second.unwrap_or(text.len()..text.len());
    Pieces([&text[..first.start], &text[first.end..second.start], &text[second.end..]])
}

/// What to leave out so that the last `shown` elements stay.
fn history_cut(text: &str, index: &ArrayIndex, shown: Option<usize>, behind: usize) -> Option<Range<usize>> {
    let shown = shown?;
    if shown == 0 {
        return Some(member_cut(text, index, behind));
    }
    let hidden = index.elements.len().checked_sub(shown).filter(|&hidden| hidden > 0)?;
    Some(index.value_start as usize + 1..index.elements[hidden] as usize)
}

/// The member and one comma: the one in front of it, or, for the member that leads the object, the one behind
/// it. `behind` is where the cut before this one ends: a member right there leads now.
fn member_cut(text: &str, index: &ArrayIndex, behind: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let (start, end) = (index.member_start as usize, index.value_end as usize);
    let is_space = |at: usize| matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r'));
    let mut before = start.saturating_sub(1);
    while before > 0 && is_space(before) {
        before -= 1;
    }
    if bytes.get(before) == Some(&b',') && behind != start {
        return before..end;
    }
    let mut next = end;
    while is_space(next) || bytes.get(next) == Some(&b',') {
        next += 1;
    }
    start..next
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::a2a::task::Document;
    use crate::a2a::transitions::tests::row;
    use crate::store::A2aRow;

    fn stored(text: &str) -> A2aRow {
        let document = Document::parse(text, 1 << 20).expect("a task");
        let mut row = row("working");
        row.task = document.text.into();
        row.history = document.history.map(Into::into);
        row.artifacts = document.artifacts.map(Into::into);
        row
    }

    fn cut(text: &str, history: Option<usize>, artifacts: bool) -> String {
        let row = stored(text);
        let pieces = pieces(row.listed(), View { history, artifacts });
        let mut shown = Text::with_capacity(pieces.len());
        pieces.push_to(&mut shown);
        assert_eq!(shown.len(), pieces.len());
        shown.as_str().to_owned()
    }

    #[test]
    fn bytes_stay_as_they_came() {
        const S: &str = r#""id":"t","status":{"state":"working"}"#;
        // Text, messages shown, artifacts shown, what is left. `S` stands for the required members.
        let table = [
            ("{S}", Some(0), false, "{S}"),
            ("{S}", None, true, "{S}"),
            ("  {S}\r\n\t", None, true, "{S}"),
            (r#"{S,"history":[]}"#, Some(0), true, "{S}"),
            (r#"{S,"history":[]}"#, Some(1), true, r#"{S,"history":[]}"#),
            (r#"{S,"history":null}"#, Some(0), true, "{S}"),
            (r#"{S,"history":null}"#, Some(5), true, r#"{S,"history":null}"#),
            (r#"{S,"history":null}"#, None, true, r#"{S,"history":null}"#),
            (r#"{S,"history":[1,2,3]}"#, None, false, r#"{S,"history":[1,2,3]}"#),
            (r#"{S,"history":[1,2,3]}"#, Some(0), false, "{S}"),
            (r#"{S,"history":[1,2,3]}"#, Some(1), false, r#"{S,"history":[3]}"#),
            (r#"{S,"history":[1,2,3]}"#, Some(2), false, r#"{S,"history":[2,3]}"#),
            (r#"{S,"history":[1,2,3]}"#, Some(3), false, r#"{S,"history":[1,2,3]}"#),
            (r#"{S,"history":[1,2,3]}"#, Some(4), false, r#"{S,"history":[1,2,3]}"#),
            (r#"{S,"history":[1,2,3]}"#, Some(i32::MAX as usize), false, r#"{S,"history":[1,2,3]}"#),
            (
                r#"{S, "history" : [ 1 , 2 , 3 ] , "z":0}"#,
                Some(2),
                true,
                r#"{S, "history" : [2 , 3 ] , "z":0}"#,
            ),
            (r#"{S, "history" : [ 1 , 2 , 3 ] , "z":0}"#, Some(0), true, r#"{S , "z":0}"#),
            (r#"{S,"history":[ 1 , 2 ]}"#, Some(2), true, r#"{S,"history":[ 1 , 2 ]}"#),
            (r#"{ "history": [1], S}"#, Some(0), true, "{ S}"),
            (r#"{"history":[1],"artifacts":[2],S}"#, Some(0), false, "{S}"),
            (r#"{"artifacts":[2],"history":[1],S}"#, Some(0), false, "{S}"),
            (r#"{"artifacts":[2],"history":[1],S}"#, Some(0), true, r#"{"artifacts":[2],S}"#),
            (r#"{"artifacts":[2],"history":[1],S}"#, None, false, r#"{"history":[1],S}"#),
            (r#"{ "artifacts":[2] , "history":[1] , S}"#, Some(0), false, "{ S}"),
            (r#"{S,"artifacts":[2],"history":[1]}"#, Some(0), false, "{S}"),
            (r#"{S,"history":[1,2],"artifacts":[2]}"#, Some(1), false, r#"{S,"history":[2]}"#),
            (r#"{"history":[1,2],S,"artifacts":[2]}"#, Some(0), false, "{S}"),
            (r#"{"artifacts":[],S,"history":[1e3,2.0]}"#, Some(1), false, r#"{S,"history":[2.0]}"#),
            (r#"{S,"artifacts":null}"#, None, false, "{S}"),
            // An escaped name is the same name; the commas and brackets of strings and deeper levels are not these.
            (
                r#"{S,"h\u0069story":["],[",{"a":[1,2]},[[3],"}"]]}"#,
                Some(2),
                true,
                r#"{S,"h\u0069story":[{"a":[1,2]},[[3],"}"]]}"#,
            ),
            (r#"{S,"h\u0069story":[1]}"#, Some(0), true, "{S}"),
            (
                r#"{S,"metadata":{"history":[1,2],"artifacts":[3]}}"#,
                Some(0),
                false,
                r#"{S,"metadata":{"history":[1,2],"artifacts":[3]}}"#,
            ),
            (
                r#"{S,"history":["é","🦀\ud83e\udd80","\u0000"]}"#,
                Some(2),
                true,
                r#"{S,"history":["🦀\ud83e\udd80","\u0000"]}"#,
            ),
        ];
        for (text, history, artifacts, expected) in table {
            let shown = cut(&text.replace('S', S), history, artifacts);
            assert_eq!(shown, expected.replace('S', S), "{text} {history:?} {artifacts}");
        }
    }

    /// Every order of the members, with and without white space, at every length.
    #[test]
    fn what_is_left_means_the_same_with_less() {
        let members = [
            r#""id":"t""#,
            r#""status":{"state":"working","message":{"parts":[{"text":"a,b]"}]}}"#,
            r#""history":[{"n":1},"two, [2]",[3,[4]],{"n":{"m":[]}}]"#,
            r#""artifacts":[{"parts":[]},{"parts":[1]}]"#,
        ];
        let mut cases = 0;
        for order in permutations(members.len()) {
            for (open, between, close) in [("{", ",", "}"), (" {\n  ", " ,\r\n\t", " \n} ")] {
                let members: Vec<&str> = order.iter().map(|&at| members[at]).collect();
                let text = format!("{open}{}{close}", members.join(between));
                for history in [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)] {
                    for artifacts in [false, true] {
                        let shown: Value =
                            serde_json::from_str(&cut(&text, history, artifacts)).expect("JSON");
                        assert_eq!(
                            shown,
                            expected(&text, history, artifacts),
                            "{text} {history:?} {artifacts}"
                        );
                        cases += 1;
                    }
                }
            }
        }
        assert_eq!(cases, 24 * 2 * 7 * 2);
    }

    fn expected(text: &str, history: Option<usize>, artifacts: bool) -> Value {
        let mut task: Value = serde_json::from_str(text).expect("JSON");
        let members = task.as_object_mut().expect("an object");
        if !artifacts {
            members.shift_remove("artifacts");
        }
        match history {
            Some(0) => drop(members.shift_remove("history")),
            Some(shown) => {
                let messages = members["history"].as_array_mut().expect("an array");
                messages.drain(..messages.len().saturating_sub(shown));
            }
            None => {}
        }
        task
    }

    fn permutations(count: usize) -> Vec<Vec<usize>> {
        let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
        let mut all = Vec::new();
        for shorter in permutations(last) {
            for at in 0..=last {
                let mut longer = shorter.clone();
                longer.insert(at, last);
                all.push(longer);
            }
        }
        all
    }
}

//! Cutting history and artifacts out of a task's text by the byte spans found at save: nothing is parsed, and
//! what stays is the same bytes. A member that goes takes one comma with it; `id` and `status` are required, so
//! an object never becomes empty by this.

#![forbid(unsafe_code)]

use std::ops::Range;

use crate::store::{A2aRow, ArrayIndex};
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
pub(crate) fn pieces<'a>(row: &'a A2aRow, view: View) -> Pieces<'a> {
    let history = row.history.as_deref();
    let artifacts = row.artifacts.as_deref().filter(|_| !view.artifacts);
    let history_first = match (history, artifacts) {
        (Some(history), Some(artifacts)) => history.member_start < artifacts.member_start,
        _ => true,
    };
    let text = &*row.task;
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

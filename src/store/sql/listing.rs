//! A page of a listing in order of sequence numbers. Which rows have expired may be known only when they are read, so that
//! more are read until the page is full.

#![forbid(unsafe_code)]

use super::{SEQUENCE_BITS, signed};
use crate::error::Result;

/// Rows that one page looks at before it ends short, with a place to go on.
const ROWS_PER_PAGE: usize = 10_000;

/// Rows that are looked for at once behind the first ones.
const LEAST_ROWS: usize = 64;

/// A row that a listing came to.
pub(in super::super) struct Listed<R> {
    pub(in super::super) sequence: i64,
    /// `None` for one that has expired, the id of one that cannot be read as an error.
    pub(in super::super) row: Option<std::result::Result<R, String>>,
}

/// Shows up to `limit` rows of a name behind the one with the number `after` within the name, and gives the number to
/// continue after, or `None` when nothing is left. `following` reads the next rows behind a sequence number, at most so
/// many.
pub(in super::super) fn list_in_order<R>(
    name: i64,
    after: u64,
    limit: usize,
    following: &mut dyn FnMut(i64, usize) -> Result<Vec<Listed<R>>>,
    visit: &mut dyn FnMut(&R),
    corrupt: &mut Vec<String>,
) -> Result<Option<u64>> {
    let first = name << SEQUENCE_BITS;
    let number = |sequence: i64| Ok(Some((sequence - first).unsigned_abs()));
    let mut after = first.saturating_add(signed(after).min((1 << SEQUENCE_BITS) - 1));
    let (mut shown, mut looked_at) = (0, 0);
    // One more than is shown tells that the page is not the last.
    let mut most = limit.saturating_add(1);
    loop {
        let rows = following(after, most)?;
        let is_last = rows.len() < most;
        looked_at += rows.len();
        for Listed { sequence, row } in rows {
            if let Some(row) = row {
                if shown == limit {
                    return number(after);
                }
                shown += 1;
                match row {
                    Ok(row) => visit(&row),
                    Err(id) => corrupt.push(id),
                }
            }
            after = sequence;
        }
        if is_last {
            return Ok(None);
        }
        if looked_at >= ROWS_PER_PAGE {
            return number(after);
        }
        most = (limit - shown).saturating_add(1).max(LEAST_ROWS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: i64 = 3;
    const FIRST: i64 = NAME << SEQUENCE_BITS;

    /// Rows 1 to `last`, of which those that `is_gone` have expired; how many were read.
    fn pages(last: i64, limit: usize, is_gone: fn(i64) -> bool) -> (Vec<Vec<i64>>, usize) {
        let (mut pages, mut read, mut after) = (Vec::new(), 0, Some(0));
        while let Some(from) = after {
            let (mut page, mut corrupt) = (Vec::new(), Vec::new());
            after = list_in_order(
                NAME,
                from,
                limit,
                &mut |after, most| {
                    let listed = |number| Listed {
                        sequence: FIRST + number,
                        row: (!is_gone(number)).then_some(Ok(number)),
                    };
                    let rows: Vec<_> = (after - FIRST + 1..=last).take(most).map(listed).collect();
                    read += rows.len();
                    Ok(rows)
                },
                &mut |row| page.push(*row),
                &mut corrupt,
            )
            .unwrap();
            assert!(corrupt.is_empty());
            pages.push(page);
        }
        (pages, read)
    }

    #[test]
    fn pages_are_full_whatever_has_expired_between() {
        let none = |_| false;
        assert_eq!(pages(0, 2, none).0, [[0_i64; 0]]);
        assert_eq!(pages(2, 2, none).0, [[1, 2]]);
        assert_eq!(pages(3, 2, none), (vec![vec![1, 2], vec![3]], 4));
        assert_eq!(pages(200, 2, |row| row % 100 != 0).0, [[100, 200]]);
        assert_eq!(pages(301, 2, |row| row % 100 != 0).0, [vec![100, 200], vec![300]]);
        assert_eq!(pages(500, 1, |_| true).0, [[0_i64; 0]]);
    }

    #[test]
    fn a_page_of_expired_rows_alone_ends_somewhere() {
        let (pages, read) = pages(25_000, 100, |row| row < 25_000);
        assert_eq!(pages.concat(), [25_000]);
        assert!((3..5).contains(&pages.len()), "{}", pages.len());
        assert!(read < 25_200, "{read}");
    }

    #[test]
    fn a_row_that_cannot_be_read_takes_its_place_on_the_page() {
        let mut corrupt = Vec::new();
        let mut rows = vec![
            Listed { sequence: FIRST + 4, row: Some(Err("a".to_owned())) },
            Listed { sequence: FIRST + 9, row: Some(Ok(())) },
        ];
        let next = list_in_order(
            NAME,
            0,
            1,
            &mut |_, _| Ok(std::mem::take(&mut rows)),
            &mut |()| panic!("the page is full"),
            &mut corrupt,
        );
        assert_eq!((next.unwrap(), corrupt), (Some(4), vec!["a".to_owned()]));
    }
}

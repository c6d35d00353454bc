//! Nobody learns what is not theirs: no text that a host or a client gave stands in an error or in an answer to
//! somebody else, and unknown, foreign and expired records give the same answers in comparable times.

mod support;

#[path = "isolation"]
mod isolation {
    mod answers;
    mod errors;

    /// Stands in no other text.
    const CANARY: &str = "cAnArY-5e1f";
}

//! A column of a kind of row, and what becomes of it in statements.

#![forbid(unsafe_code)]

/// A column of a table, or an expression that is read like one.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Column {
    pub(in super::super) sql: &'static str,
    role: Role,
    pub(in super::super) concealed_as: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Read, and written once.
    Fixed,
    /// Read, and written with every change.
    Changing,
    /// Written once and never read with the row: an index or the row's head has it.
    FixedForIndex,
    /// The same, written with every change.
    ChangingForIndex,
    /// An expression: read only.
    Computed,
}

impl Column {
    const fn new(sql: &'static str, role: Role) -> Self {
        Self { sql, role, concealed_as: None }
    }

    /// Written when the row is inserted, and the same for as long as it is there.
    pub(in super::super) const fn fixed(name: &'static str) -> Self {
        Self::new(name, Role::Fixed)
    }

    /// Written with every change of the row.
    pub(in super::super) const fn changing(name: &'static str) -> Self {
        Self::new(name, Role::Changing)
    }

    /// Written when the row is inserted, for the sake of an index: it is not read.
    pub(in super::super) const fn fixed_for_index(name: &'static str) -> Self {
        Self::new(name, Role::FixedForIndex)
    }

    /// The same, written with every change of the row.
    pub(in super::super) const fn changing_for_index(name: &'static str) -> Self {
        Self::new(name, Role::ChangingForIndex)
    }

    /// Not a column but an expression. Read only.
    pub(in super::super) const fn computed(expression: &'static str) -> Self {
        Self::new(expression, Role::Computed)
    }

    /// What callers without a claim to the row read in its place, in SQL. The database then does not fetch the column.
    pub(in super::super) const fn concealed_as(self, other: &'static str) -> Self {
        Self { concealed_as: Some(other), ..self }
    }

    pub(in super::super) fn is_read(&self) -> bool {
        matches!(self.role, Role::Fixed | Role::Changing | Role::Computed)
    }

    /// Whether it is a column of the table.
    pub(in super::super) fn is_inserted(&self) -> bool {
        self.role != Role::Computed
    }

    pub(in super::super) fn is_updated(&self) -> bool {
        matches!(self.role, Role::Changing | Role::ChangingForIndex)
    }

    /// How it is named where other tables are in the same statement.
    pub(in super::super) fn qualified(&self) -> String {
        if self.role == Role::Computed { self.sql.to_owned() } else { format!("t.{}", self.sql) }
    }
}

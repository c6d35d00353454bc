//! Inserting a row within the limits of its name and of its partition. Slots are counted in the database; those who
//! create wait for each other only where a limit is near.

#![forbid(unsafe_code)]

use super::super::Limits;
use super::connection::Answer;
use super::fault::{Failure, Fault, UNIQUE_VIOLATION};
use super::row::{NewRow, PgRow, Write, signed};
use super::table::PgTable;
use super::transaction::Transaction;
use super::values::values;
use crate::error::{Error, Result};

/// Two callers with this lock at once do not exclude each other, but exclude who has it alone.
const SHARE_LIMIT: &str = "SELECT pg_advisory_xact_lock_shared($1)";
const LOCK_LIMIT: &str = "SELECT pg_advisory_xact_lock($1)";

/// What came of an insert.
pub(super) enum Inserted {
    /// When the row was created, where the server dates it, and who listens.
    Done(Option<i64>, i64),
    /// The id, or the operation, is another row's.
    Taken,
    /// A limit is reached.
    Full(Error),
}

impl Inserted {
    fn of(answer: &Answer) -> Self {
        answer.rows.first().map_or(Self::Taken, |row| Self::Done(row.optional_integer(0), row.integer(1)))
    }
}

impl<R: PgRow> PgTable<R> {
    fn new_row(&self, limit: Option<i64>, made_at_ms: Option<i64>) -> NewRow {
        NewRow { name: self.name, limit, made_at_ms, store: self.shared.number }
    }

    /// Inserts a row within `limits`.
    pub(super) fn insert(&self, new: &R, limits: Limits, made_at_ms: Option<i64>) -> Result<Inserted> {
        let ticks = self.shared.ticks;
        let is_limited = limits.total.is_some() || limits.per_partition.is_some();
        if !is_limited || !new.takes_slot() {
            let Write { sql, values } = new.insert(&self.statements, &self.new_row(None, made_at_ms), ticks);
            return match self.shared.write(sql, &values) {
                Ok(answer) => Ok(Inserted::of(&answer)),
                Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => Ok(Inserted::Taken),
                Err(failure) => Err(failure.into_error()),
            };
        }
        let most_under_way = if limits.total.is_some() { self.count_from_now_on()? } else { 0 };
        // As long as all transactions under way together cannot reach the limit, they need not wait for each other.
        let far_limit =
            limits.total.map(|total| signed(total).saturating_sub(most_under_way)).filter(|far| *far > 0);
        if let Some(far_limit) = far_limit
            && let done @ (Inserted::Done(..) | Inserted::Full(_)) =
                self.insert_within(new, limits, Some(far_limit), made_at_ms)?
        {
            return Ok(done);
        }
        self.insert_within(new, limits, None, made_at_ms)
    }

    /// The same in one transaction that holds the locks of the limits: that of the total shared while `far_limit` is
    /// not reached, and alone to count exactly.
    fn insert_within(
        &self,
        new: &R,
        limits: Limits,
        far_limit: Option<i64>,
        made_at_ms: Option<i64>,
    ) -> Result<Inserted> {
        let ticks = self.shared.ticks;
        let total_key = self.total_key();
        let partition = new.partition();
        let done = self.shared.transaction(|transaction| {
            if let Some(limit) = limits.per_partition {
                let key = self.partition_key(partition.as_deref());
                transaction.defer(LOCK_LIMIT, values![key]);
                let mut values = values![self.name, self.shared.manual_ms()];
                let [named, anonymous] = &self.statements.count_in_partition;
                let sql = if let Some(partition) = partition.as_deref() {
                    values.push(partition.into());
                    named
                } else {
                    anonymous
                };
                let count = transaction.query(sql, values)?.first().map_or(0, |row| row.integer(0));
                if count >= signed(limit) {
                    return self.full(transaction, new, limits.partition_reached());
                }
            }
            if let (Some(total), None) = (limits.total, far_limit) {
                transaction.defer(LOCK_LIMIT, values![total_key]);
                let rows = transaction.query(&self.statements.count_slots, values![self.name])?;
                let beyond = rows.first().map_or(0, |row| row.integer(0)).saturating_sub(signed(total)) + 1;
                if beyond > 0 {
                    // Those that have expired do not count, whether they are removed or not.
                    let values = values![self.name, self.shared.manual_ms(), beyond];
                    let expired = transaction.query(&self.statements.count_expired, values)?;
                    if expired.first().is_none_or(|row| row.integer(0) - row.integer(1) >= signed(total)) {
                        return self.full(transaction, new, limits.total_reached());
                    }
                }
            } else if limits.total.is_some() {
                transaction.defer(SHARE_LIMIT, values![total_key]);
            }
            let Write { sql, values } =
                new.insert(&self.statements, &self.new_row(far_limit, made_at_ms), ticks);
            match transaction.finish(sql, values) {
                Ok(answer) => Ok(Inserted::of(&answer)),
                Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => {
                    transaction.give_up();
                    Ok(Inserted::Taken)
                }
                Err(failure) => Err(failure),
            }
        })?;
        Ok(done)
    }

    /// A limit is reached, unless another has made the very row meanwhile: that goes before.
    fn full<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        new: &R,
        error: Error,
    ) -> std::result::Result<Inserted, Failure> {
        let operation = new.operation();
        let values = values![self.name, new.id(), operation.as_ref().map(<[u8; 32]>::as_slice)];
        let is_taken = !transaction.query(&self.statements.is_taken, values)?.is_empty();
        Ok(if is_taken { Inserted::Taken } else { Inserted::Full(error) })
    }

    /// The lock of the limit of the total.
    fn total_key(&self) -> i64 {
        self.shared.lock_key(&["total", &self.name.to_string()])
    }

    /// The lock of the limit of a partition.
    fn partition_key(&self, partition: Option<&str>) -> i64 {
        let name = self.name.to_string();
        match partition {
            None => self.shared.lock_key(&["anonymous", &name]),
            Some(partition) => self.shared.lock_key(&["partition", &name, partition]),
        }
    }

    /// Makes sure that slots are counted, and says how many transactions may be under way at most.
    fn count_from_now_on(&self) -> Result<i64> {
        let mut counted_with = self.counted_with.lock();
        if let Some(most) = *counted_with {
            return Ok(most);
        }
        let table = format!("{}.taskhold_{}", self.shared.pool.setup().schema, R::TABLE);
        let look = "SELECT @is_counted($1::regclass), current_setting('max_connections')::bigint";
        let rows = self.shared.read(look, &values![table.as_str()])?;
        let row = rows.first().ok_or_else(|| Fault::Protocol.into_error())?;
        let most = row.integer(1);
        if !row.flag(0) {
            let count = format!("SELECT @count_{}()", R::TABLE);
            self.shared.change_schema(&count)?;
        }
        *counted_with = Some(most);
        Ok(most)
    }
}

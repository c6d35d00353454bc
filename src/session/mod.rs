//! MCP sessions: the seed's compare-and-set session store over a table of sessions.

#![forbid(unsafe_code)]

use crate::error::Result;
use crate::store::Store;
use crate::text::Text;

/// A session store. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_session_store_*` in the header.
pub struct SessionStore {}

#[allow(missing_docs, unused_variables)] // Documented in ffi, function by function.
impl SessionStore {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        todo!()
    }
    /// Lets go of the pins that this store took.
    pub fn close(&self) {
        todo!()
    }
    pub fn options(&self) -> Text {
        todo!()
    }
    /// `None` when admission is declined.
    pub fn create(&self, endpoint: &str, creation: Option<&str>) -> Result<Option<Text>> {
        todo!()
    }
    pub fn find_by_session_id(&self, session_id: &str) -> Result<Option<Text>> {
        todo!()
    }
    pub fn find_authorized_session(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        session_id: &str,
    ) -> Result<Option<Text>> {
        todo!()
    }
    pub fn replace(&self, expected: &str, updated: &str) -> Result<bool> {
        todo!()
    }
    pub fn delete_by_session_id(&self, session_id: &str) -> Result<()> {
        todo!()
    }
    pub fn pin(&self, session_id: &str) -> Result<bool> {
        todo!()
    }
    pub fn unpin(&self, session_id: &str) -> Result<()> {
        todo!()
    }
    pub fn take_expired(&self) -> Result<Text> {
        todo!()
    }
}

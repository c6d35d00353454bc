//! The last sessions that this process removed because they expired, and those that another one removed and that have
//! to do with this store, kept for the host so that it can release what it holds beside them. Each is handed out once; beyond the bound the oldest is forgotten.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use crate::json::ArrayWriter;
use crate::store::{ExpiredSession, ExpiryListener, SessionRow};
use crate::sync::Mutex;
use crate::text::Text;

/// A bounded buffer of expired sessions.
#[derive(Debug)]
pub(super) struct ExpiredSessions {
    bound: usize,
    sessions: Mutex<VecDeque<ExpiredSession>>,
}

impl ExpiredSessions {
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, sessions: Mutex::default() }
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// Keeps one more.
    pub(super) fn add(&self, expired: ExpiredSession) {
        let mut sessions = self.sessions.lock();
        if sessions.len() == self.bound {
            sessions.pop_front();
        }
        sessions.push_back(expired);
    }

    /// Everything kept, oldest first, as a JSON array; afterwards nothing is kept.
    pub(super) fn take(&self) -> Text {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        let mut text = Text::with_capacity(2 + 128 * sessions.len());
        let mut array = ArrayWriter::new(&mut text);
        for expired in &sessions {
            array
                .object()
                .plain_string("reason", &expired.reason)
                .string("sessionId", &expired.id)
                .string("endpoint", &expired.endpoint);
        }
        drop(array);
        text
    }
}

impl ExpiryListener<SessionRow> for ExpiredSessions {
    fn expired(&self, row: &SessionRow) {
        self.add(ExpiredSession {
            reason: row.expiry_reason().into(),
            id: Arc::clone(&row.id),
            endpoint: Arc::clone(&row.endpoint),
        });
    }
}

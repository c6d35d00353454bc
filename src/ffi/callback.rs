//! A callback of the host: function, user data and release travel as one value. Whoever drops the value runs
//! the release, so it runs exactly once whatever becomes of the call that brought it.

use std::ffi::{CString, c_char, c_void};

use crate::task::Subscriber;

/// A function of the host that is told the ids of tasks that changed, and the data that goes with it.
pub(super) struct TaskCallback {
    on_task_changed: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
    user_data: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the host promises that its functions and user data may be used on any thread
// (`taskhold_manager_subscribe`, @param on_task_changed); the library only passes the pointer on.
unsafe impl Send for TaskCallback {}
// SAFETY: as above.
unsafe impl Sync for TaskCallback {}

impl TaskCallback {
    /// Takes the user data over.
    ///
    /// # Safety
    /// The functions, if not NULL, may be called with `user_data` from any thread: `on_task_changed` any
    /// number of times until `release`, and `release` once.
    pub(super) unsafe fn new(
        on_task_changed: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
        user_data: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Self {
        Self { on_task_changed, user_data, release }
    }

    /// Whether there is a function to call.
    pub(super) fn is_callable(&self) -> bool {
        self.on_task_changed.is_some()
    }
}

impl Subscriber for TaskCallback {
    fn task_changed(&self, task_id: &str) {
        let Some(on_task_changed) = self.on_task_changed else { return };
        // An identifier holds no NUL.
        let Ok(task_id) = CString::new(task_id) else { return };
        // SAFETY: `new` was promised that the function may be called until the release, which comes with the
        // drop of `self`; the id is a C string that lives until the function returns.
        unsafe { on_task_changed(self.user_data, task_id.as_ptr()) };
    }
}

impl Drop for TaskCallback {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `new` was promised that the release may be called once; a value is dropped once, when
            // no call of `task_changed` runs any more.
            unsafe { release(self.user_data) };
        }
    }
}

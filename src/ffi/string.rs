//! Strings that the host gives back.

use std::ffi::c_char;

use super::block::take_back;
use super::guard::guard_plain;

/// Frees a string that this library handed out through a `char **`.
///
/// @param string In: the string; not to be used afterwards. NULL is ignored. Strings of type `const char *`
///               are static and are never freed.
/// @note Any thread, also inside a callback and after every handle is closed. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_string_free(string: *mut c_char) {
    guard_plain("taskhold_string_free", (), || {
        if string.is_null() {
            return;
        }
        // SAFETY: the host passes what `hand_out` gave it, once (@param string).
        unsafe { take_back(string) };
    });
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::super::block::hand_out;
    use super::*;
    use crate::text::Text;

    #[test]
    fn a_string_crosses_unchanged_and_is_freed_whatever_the_host_wrote_into_it() {
        for length in [0, 1, 15, 16, 17, 4096] {
            let content = "x".repeat(length);
            let string = hand_out(Text::from(content.as_str())).unwrap();
            // SAFETY: `hand_out` gives a NUL-terminated string.
            assert_eq!(unsafe { CStr::from_ptr(string) }.to_bytes(), content.as_bytes());
            // SAFETY: the string has at least its final NUL, and is freed once.
            unsafe {
                string.write(0);
                taskhold_string_free(string);
            }
        }
    }

    #[test]
    fn freeing_null_does_nothing() {
        // SAFETY: NULL is allowed.
        unsafe { taskhold_string_free(std::ptr::null_mut()) };
    }
}

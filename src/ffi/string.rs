//! Strings that go to the host and come back to be freed. The host gets a pointer behind a small header,
//! which holds what is needed to rebuild the allocation: no length is ever computed from what the host may
//! have done to the text, and no byte is copied on the way out.

use std::ffi::c_char;

use super::guard::guard_plain;
use crate::text::Text;

/// Bytes of the capacity at the front of the header. The rest of it keeps the text aligned.
const CAPACITY_BYTES: usize = size_of::<usize>();

const _: () = assert!(CAPACITY_BYTES <= Text::HEADER);

/// Turns `text` into a NUL-terminated string that [`taskhold_string_free`] frees. The text holds no U+0000:
/// JSON escapes it, and whoever hands out a decoded string refuses it first.
pub(super) fn hand_out(text: Text) -> *mut c_char {
    let mut block = text.into_block();
    block.push(0);
    let mut block = std::mem::ManuallyDrop::new(block);
    let capacity = block.capacity();
    block[..CAPACITY_BYTES].copy_from_slice(&capacity.to_ne_bytes());
    // SAFETY: a block begins with `Text::HEADER` bytes, so the result is inside it.
    unsafe { block.as_mut_ptr().add(Text::HEADER) }.cast()
}

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
        // SAFETY: the host passes what `hand_out` gave it, once (@param string). `hand_out` made the pointer
        // from a whole Vec<u8> by adding `Text::HEADER`, so the block begins there, and put the Vec's capacity
        // at its front; the header is before the text, so whatever the host wrote to its string left it alone.
        // A length of 0 is within any capacity and u8 needs no drop.
        unsafe {
            let block = string.cast::<u8>().sub(Text::HEADER);
            let capacity = usize::from_ne_bytes(block.cast::<[u8; CAPACITY_BYTES]>().read());
            drop(Vec::from_raw_parts(block, 0, capacity));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_string_crosses_unchanged_and_is_freed_whatever_the_host_wrote_into_it() {
        for length in [0, 1, 15, 16, 17, 4096] {
            let content = "x".repeat(length);
            let string = hand_out(Text::from(content.as_str()));
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

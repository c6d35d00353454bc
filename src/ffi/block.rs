//! The memory of strings that go to the host and come back to be freed. The host gets a pointer behind a small
//! header, which holds what is needed to rebuild the allocation: no length is ever computed from what the host may
//! have done to the text, and no byte is copied on the way out.

use std::ffi::c_char;
use std::mem::ManuallyDrop;

use crate::error::Result;
use crate::text::Text;

/// Bytes of the capacity at the front of the header. The rest of it keeps the text aligned.
const CAPACITY_BYTES: usize = size_of::<usize>();

const _: () = assert!(CAPACITY_BYTES <= Text::HEADER);

/// Turns `text` into a NUL-terminated string that [`take_back`] frees. The text holds no U+0000: JSON escapes it,
/// and whoever hands out a decoded string refuses it first.
#[inline]
pub(super) fn hand_out(text: Text) -> Result<*mut c_char> {
    let mut block = ManuallyDrop::new(text.into_block()?);
    let capacity = block.capacity();
    block[..CAPACITY_BYTES].copy_from_slice(&capacity.to_ne_bytes());
    // SAFETY: a block begins with `Text::HEADER` bytes, so the result is inside it.
    Ok(unsafe { block.as_mut_ptr().add(Text::HEADER) }.cast())
}

/// Frees a string.
///
/// # Safety
/// `string` came from [`hand_out`] and is given back once. What was written to it does not matter.
pub(super) unsafe fn take_back(string: *mut c_char) {
    // SAFETY: `hand_out` made the pointer from a whole Vec<u8> by adding `Text::HEADER`, so the block begins there,
    // and put the Vec's capacity at its front; the header is before the text, so whatever the host wrote to its
    // string left it alone. A length of 0 is within any capacity and u8 needs no drop.
    unsafe {
        let block = string.cast::<u8>().sub(Text::HEADER);
        let capacity = usize::from_ne_bytes(block.cast::<[u8; CAPACITY_BYTES]>().read());
        drop(Vec::from_raw_parts(block, 0, capacity));
    }
}

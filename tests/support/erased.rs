//! Functions of any signature behind one: arguments and results are 64-bit words, as a foreign function
//! interface passes them.

use std::ffi::{c_char, c_void};

/// A type of an argument or of a result of an export.
pub trait Word {
    fn from_word(word: u64) -> Self;
    fn to_word(self) -> u64;
}

macro_rules! words {
    ($($number:ty),+) => {
        $(#[allow(
            clippy::cast_lossless,
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            trivial_numeric_casts,
            reason = "a word has room for each of them"
        )]
        impl Word for $number {
            fn from_word(word: u64) -> Self {
                word as Self
            }

            fn to_word(self) -> u64 {
                self as u64
            }
        })+
    };
}

words!(i32, u32, i64, u64);

impl<T> Word for *mut T {
    fn from_word(word: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(usize::try_from(word).expect("64-bit pointers"))
    }

    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *const T {
    fn from_word(word: u64) -> Self {
        std::ptr::with_exposed_provenance(usize::try_from(word).expect("64-bit pointers"))
    }

    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl Word for () {
    fn from_word(_word: u64) -> Self {}

    fn to_word(self) -> u64 {
        0
    }
}

type Changed = unsafe extern "C" fn(*mut c_void, *const c_char);
type Release = unsafe extern "C" fn(*mut c_void);

macro_rules! callbacks {
    ($($callback:ty),+) => {
        $(impl Word for Option<$callback> {
            fn from_word(word: u64) -> Self {
                let pointer: *const c_void = Word::from_word(word);
                // SAFETY: the word is 0 or was made from such a function by `to_word`.
                unsafe { std::mem::transmute::<*const c_void, Self>(pointer) }
            }

            fn to_word(self) -> u64 {
                self.map_or(0, |function| (function as *const c_void).to_word())
            }
        })+
    };
}

callbacks!(Changed, Release);

/// A function that can be called with words.
pub trait Erased: Send + Sync {
    /// # Safety
    /// What the function itself asks for; one word for each parameter.
    unsafe fn call(&self, words: &[u64]) -> u64;
}

macro_rules! erased {
    ($($parameter:ident)*) => {
        impl<R: Word, $($parameter: Word),*> Erased for unsafe extern "C" fn($($parameter),*) -> R {
            unsafe fn call(&self, words: &[u64]) -> u64 {
                let mut words = words.iter().copied();
                // SAFETY: the caller promises what the function asks for.
                let result = unsafe {
                    self($({
                        let word = words.next().expect("a word for each parameter");
                        <$parameter as Word>::from_word(word)
                    }),*)
                };
                assert_eq!(words.next(), None, "no word too many");
                result.to_word()
            }
        }
    };
}

erased!();
erased!(A);
erased!(A B);
erased!(A B C);
erased!(A B C D);
erased!(A B C D E);
erased!(A B C D E F);
erased!(A B C D E F G);
erased!(A B C D E F G H);
erased!(A B C D E F G H I);

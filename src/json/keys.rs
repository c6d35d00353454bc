//! Finding an object's duplicate keys by decoded name while its text is validated. The names of all open objects lie
//! on one stack; a name is compared with those of its own object one by one while they are few. An object with many
//! moves them into a hash set with a random seed, so that the work stays linear whatever the names are.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::error::Result;
use crate::text::no_room;

/// Most keys of an object that are compared one by one.
const FEW_KEYS: usize = 16;

/// The keys of the objects that are open.
#[derive(Default)]
pub(super) struct Keys<'a> {
    objects: Vec<Object>,
    /// Names of objects with few, the innermost object's last.
    names: Vec<Cow<'a, str>>,
    /// Names of each open object with many, the innermost's last.
    many: Vec<HashSet<Cow<'a, str>>>,
}

/// One object that is being validated.
struct Object {
    /// Where its names begin on the stack.
    base: usize,
    has_many: bool,
}

impl<'a> Keys<'a> {
    /// An object begins within the current one. How many may be open is limited by their depth.
    #[inline]
    pub(super) fn open(&mut self) {
        self.objects.push(Object { base: self.names.len(), has_many: false });
    }

    /// The current object ends.
    #[inline]
    pub(super) fn close(&mut self) {
        let Some(object) = self.objects.pop() else { return };
        self.names.truncate(object.base);
        if object.has_many {
            self.many.pop();
        }
    }

    /// Adds a key to the current object. False if it has it already.
    #[inline]
    pub(super) fn add(&mut self, name: Cow<'a, str>) -> Result<bool> {
        let Some(object) = self.objects.last() else { return Ok(true) };
        if object.has_many {
            return self.add_to_many(name);
        }
        let own = self.names.get(object.base..).unwrap_or_default();
        if own.contains(&name) {
            return Ok(false);
        }
        if own.len() == FEW_KEYS {
            self.become_many();
            return self.add_to_many(name);
        }
        if self.names.len() == self.names.capacity() {
            self.names.try_reserve(2 * FEW_KEYS).map_err(|_| no_room())?;
        }
        self.names.push(name);
        Ok(true)
    }

    /// Moves the names of the current object into a set.
    #[cold]
    fn become_many(&mut self) {
        if let Some(object) = self.objects.last_mut() {
            object.has_many = true;
            let mut names = HashSet::with_capacity(4 * FEW_KEYS);
            names.extend(self.names.drain(object.base..));
            self.many.push(names);
        }
    }

    #[cold]
    fn add_to_many(&mut self, name: Cow<'a, str>) -> Result<bool> {
        let Some(names) = self.many.last_mut() else { return Ok(true) };
        names.try_reserve(1).map_err(|_| no_room())?;
        Ok(names.insert(name))
    }
}

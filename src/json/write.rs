//! Writing JSON: objects and arrays that put the separators between what is added to them and close when they are
//! dropped. The text of a value that is given as JSON is taken over byte for byte.

#![forbid(unsafe_code)]

use crate::text::Text;
use crate::time::TIMESTAMP_LENGTH;

/// An object under construction at the end of a text.
#[derive(Debug)]
pub(crate) struct ObjectWriter<'t> {
    text: &'t mut Text,
    has_members: bool,
}

impl<'t> ObjectWriter<'t> {
    /// Opens an object at the end of `text`.
    #[inline]
    pub(crate) fn new(text: &'t mut Text) -> Self {
        text.push_str("{");
        Self { text, has_members: false }
    }

    /// Begins the member `key`, which needs no escapes; whatever is appended to the text is its value.
    #[inline]
    pub(crate) fn value(&mut self, key: &str) -> &mut Text {
        self.text.push_str(if self.has_members { ",\"" } else { "\"" });
        self.text.push_str(key);
        self.text.push_str("\":");
        self.has_members = true;
        self.text
    }

    /// A member whose value is this JSON text.
    #[inline]
    pub(crate) fn json(&mut self, key: &str, json: &str) -> &mut Self {
        self.value(key).push_str(json);
        self
    }

    /// A member as it stands in some JSON text: its key with the quotes, its value.
    #[inline]
    pub(crate) fn member(&mut self, raw_key: &str, json: &str) -> &mut Self {
        if self.has_members {
            self.text.push_str(",");
        }
        self.text.push_str(raw_key);
        self.text.push_str(":");
        self.text.push_str(json);
        self.has_members = true;
        self
    }

    /// A string.
    #[inline]
    pub(crate) fn string(&mut self, key: &str, string: &str) -> &mut Self {
        self.value(key).push_json_string(string);
        self
    }

    /// A string, or `null`.
    pub(crate) fn string_or_null(&mut self, key: &str, string: Option<&str>) -> &mut Self {
        self.value(key).push_json_string_or_null(string);
        self
    }

    /// A string that needs no escapes, such as an id of this library's own or a word of a closed list.
    #[inline]
    pub(crate) fn plain_string(&mut self, key: &str, string: &str) -> &mut Self {
        let text = self.value(key);
        text.push_str("\"");
        text.push_str(string);
        text.push_str("\"");
        self
    }

    /// A timestamp as [`crate::time::format_timestamp`] gives it.
    #[inline]
    pub(crate) fn timestamp(&mut self, key: &str, timestamp: &[u8; TIMESTAMP_LENGTH]) -> &mut Self {
        let text = self.value(key);
        text.push_str("\"");
        text.push_timestamp(timestamp);
        text.push_str("\"");
        self
    }

    /// An integer.
    #[inline]
    pub(crate) fn int(&mut self, key: &str, value: impl itoa::Integer) -> &mut Self {
        self.value(key).push_int(value);
        self
    }

    /// `true` or `false`.
    #[inline]
    pub(crate) fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        self.json(key, if value { "true" } else { "false" })
    }

    /// An object, which ends where what is returned is dropped.
    #[inline]
    pub(crate) fn object(&mut self, key: &str) -> ObjectWriter<'_> {
        ObjectWriter::new(self.value(key))
    }

    /// An array, which ends where what is returned is dropped.
    #[inline]
    pub(crate) fn array(&mut self, key: &str) -> ArrayWriter<'_> {
        ArrayWriter::new(self.value(key))
    }
}

impl Drop for ObjectWriter<'_> {
    #[inline]
    fn drop(&mut self) {
        self.text.push_str("}");
    }
}

/// An array under construction at the end of a text.
#[derive(Debug)]
pub(crate) struct ArrayWriter<'t> {
    text: &'t mut Text,
    has_elements: bool,
}

impl<'t> ArrayWriter<'t> {
    /// Opens an array at the end of `text`.
    #[inline]
    pub(crate) fn new(text: &'t mut Text) -> Self {
        text.push_str("[");
        Self { text, has_elements: false }
    }

    /// Begins an element; whatever is appended to the text is its value.
    #[inline]
    pub(crate) fn value(&mut self) -> &mut Text {
        if self.has_elements {
            self.text.push_str(",");
        }
        self.has_elements = true;
        self.text
    }

    /// Strings.
    pub(crate) fn strings<S: AsRef<str>>(&mut self, strings: impl IntoIterator<Item = S>) -> &mut Self {
        for string in strings {
            self.value().push_json_string(string.as_ref());
        }
        self
    }

    /// Values that are given as JSON.
    pub(crate) fn json(&mut self, texts: &[&str]) -> &mut Self {
        for text in texts {
            self.value().push_str(text);
        }
        self
    }

    /// Integers.
    pub(crate) fn ints(&mut self, integers: impl IntoIterator<Item = impl itoa::Integer>) -> &mut Self {
        for integer in integers {
            self.value().push_int(integer);
        }
        self
    }

    /// An object, which ends where what is returned is dropped.
    pub(crate) fn object(&mut self) -> ObjectWriter<'_> {
        ObjectWriter::new(self.value())
    }
}

impl Drop for ArrayWriter<'_> {
    #[inline]
    fn drop(&mut self) {
        self.text.push_str("]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_stand_between_and_brackets_around() {
        let mut text = Text::with_capacity(0);
        {
            let mut object = ObjectWriter::new(&mut text);
            object.string("a", "\"\n").string_or_null("b", None).plain_string("c", "x").bool("d", true);
            object.object("e");
            object.object("f").int("g", -1).timestamp("t", b"2025-11-30T10:30:00.000Z");
            object.array("h");
            object.array("i").strings(["j", "k"]).ints([1, 2]);
            let mut array = object.array("l");
            array.object().json("m", "[ 1 ]");
            array.object();
            drop(array);
            object.member("\"\\u0061\"", "{}");
        }
        let expected = concat!(
            r#"{"a":"\"\n","b":null,"c":"x","d":true,"e":{},"f":{"g":-1,"t":"2025-11-30T10:30:00.000Z"},"h":[],"#,
            r#""i":["j","k",1,2],"l":[{"m":[ 1 ]},{}],"\u0061":{}}"#,
        );
        assert_eq!(text.as_str(), expected);
    }
}

//! Values of headers with parameters: `value; name=value; name="value"`.

/// What is left of a header with parameters.
pub(crate) struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    /// Before the first byte of a header's value.
    pub(crate) const fn new(value: &'a [u8]) -> Self {
        Self(value)
    }

    /// The next parameter's name and value, without quotes and escapes. One without a value is passed
    /// over.
    pub(crate) fn next(&mut self) -> Option<(&'a [u8], Vec<u8>)> {
        while !self.0.is_empty() {
            let rest = self.0;
            let end = rest.iter().position(|byte| matches!(byte, b'=' | b';'));
            let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
            let Some((mark, rest)) = rest.split_first() else {
                break;
            };
            self.0 = rest;
            if *mark == b'=' {
                let value = self.value();
                return Some((name.trim_ascii(), value));
            }
        }
        None
    }

    fn value(&mut self) -> Vec<u8> {
        let Some(quoted) = self.0.trim_ascii_start().strip_prefix(b"\"") else {
            return self.until_semicolon().trim_ascii().to_vec();
        };
        self.0 = quoted;
        let mut value = Vec::new();
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            match (byte, rest.split_first()) {
                (b'"', _) => {
                    self.until_semicolon();
                    return value;
                }
                (b'\\', Some((&escaped, rest))) => {
                    self.0 = rest;
                    value.push(escaped);
                }
                _ => value.push(byte),
            }
        }
        // A quote that does not end is no value.
        Vec::new()
    }

    /// What comes before the next semicolon, which goes with it.
    pub(crate) fn until_semicolon(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == b';');
        let (before, after) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = after.split_first().map_or(after, |(_, rest)| rest);
        before
    }
}

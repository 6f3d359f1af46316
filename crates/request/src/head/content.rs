//! What the headers of the content say of the body: its type and its codings.

use super::parameters::Parameters;

/// How a body is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// As it is, as far as the headers tell.
    #[default]
    Plain,
    /// Compressed in a way that can be read.
    Coded(Coding),
    /// A form in parts, with this boundary between them.
    Multipart(Box<str>),
    /// In a way that is not read, which is no fault of the client's.
    Opaque,
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// What the headers together say of the body.
pub(super) fn form(kind: &Type, codings: Codings, takes_uploads: bool) -> BodyForm {
    match (kind, codings) {
        (Type::Other | Type::Grpc, Codings::None) => BodyForm::Plain,
        (Type::Other | Type::Grpc, Codings::One(coding)) => BodyForm::Coded(coding),
        (Type::Form(boundary), Codings::None) if takes_uploads => {
            BodyForm::Multipart(boundary.clone())
        }
        _ => BodyForm::Opaque,
    }
}

/// What `content-type` says, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Type {
    /// Anything, which is taken for what the path says: clients send JSON under many names.
    #[default]
    Other,
    /// gRPC.
    Grpc,
    /// A form in parts, with its boundary.
    Form(Box<str>),
    /// Parts of another kind, or without a boundary that can be used.
    Parts,
}

impl Type {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut parameters = Parameters::new(value);
        let name = parameters.until_semicolon().trim_ascii();
        if starts_with(name, b"application/grpc") {
            Self::Grpc
        } else if starts_with(name, b"multipart/") {
            let boundary = name
                .eq_ignore_ascii_case(b"multipart/form-data")
                .then(|| boundary(parameters));
            boundary.flatten().map_or(Self::Parts, Self::Form)
        } else {
            Self::Other
        }
    }
}

/// What `content-encoding` says, over all headers of that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Codings {
    /// Nothing changes the body's bytes.
    #[default]
    None,
    /// One coding that can be read.
    One(Coding),
    /// One that cannot, or several on top of each other.
    Unreadable,
}

impl Codings {
    /// Adds those that one header lists.
    pub(super) fn add(&mut self, value: &[u8]) {
        for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let known = CODINGS
                .iter()
                .find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
            *self = match (*self, known) {
                (Self::None, Some(&(_, coding))) => Self::One(coding),
                _ => Self::Unreadable,
            };
        }
    }
}

/// The boundary among the parameters of a type. Two of them are none: readers differ in which counts.
fn boundary(mut parameters: Parameters<'_>) -> Option<Box<str>> {
    let mut found = None;
    while let Some((name, value)) = parameters.next() {
        if name.eq_ignore_ascii_case(b"boundary") {
            if found.is_some() {
                return None;
            }
            found = Some(value);
        }
    }
    let boundary = found?;
    let is_valid = (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len())
        && boundary.last() != Some(&b' ')
        && boundary.iter().all(|&byte| is_of_boundary(byte));
    let text = is_valid.then(|| String::from_utf8(boundary).ok())??;
    Some(text.into())
}

fn starts_with(value: &[u8], prefix: &[u8]) -> bool {
    value
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

const fn is_of_boundary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'\''..=b')' | b'+'..=b'/' | b':' | b'=' | b'?' | b'_' | b' ')
}

const CODINGS: [(&str, Coding); 3] = [
    ("gzip", Coding::Gzip),
    ("x-gzip", Coding::Gzip),
    ("zstd", Coding::Zstd),
];

/// Longest boundary that there may be (RFC 2046, 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

#[cfg(test)]
mod tests;

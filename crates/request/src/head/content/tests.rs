use proptest::prelude::*;

use super::*;

fn codings(headers: &[&str]) -> BodyForm {
    let mut codings = Codings::default();
    for value in headers {
        codings.add(value.as_bytes());
    }
    form(&Type::Other, codings, true)
}

fn upload(content_type: &str) -> BodyForm {
    form(&Type::of(content_type.as_bytes()), Codings::None, true)
}

#[test]
fn gzip_and_zstd_can_be_read_and_identity_is_nothing() {
    let gzip = BodyForm::Coded(Coding::Gzip);
    let zstd = BodyForm::Coded(Coding::Zstd);
    for (headers, expected) in [
        (&[][..], BodyForm::Plain),
        (&[""], BodyForm::Plain),
        (&["Identity"], BodyForm::Plain),
        (&["identity, ,", "identity"], BodyForm::Plain),
        (&["gzip"], gzip.clone()),
        (&["X-GZIP"], gzip.clone()),
        (&[" gzip , identity"], gzip.clone()),
        (&["identity", "gzip"], gzip),
        (&["Zstd"], zstd),
    ] {
        assert_eq!(codings(headers), expected, "{headers:?}");
    }
}

#[test]
fn several_codings_and_unknown_ones_are_opaque() {
    for headers in [
        &["br"][..],
        &["deflate"],
        &["compress"],
        &["gzip, zstd"],
        &["gzip, gzip"],
        &["gzip", "zstd"],
        &["zstd", "identity", "br"],
        &["br", "gzip"],
        &["gzip;q=1"],
        &["gz\u{ef}p"],
    ] {
        assert_eq!(codings(headers), BodyForm::Opaque, "{headers:?}");
    }
}

#[test]
fn a_boundary_comes_quoted_or_bare_wherever_it_stands() {
    let longest = "b".repeat(70);
    for (parameters, boundary) in [
        ("; boundary=X", "X"),
        (";boundary=X;charset=utf-8", "X"),
        ("; charset=\"utf-8; boundary=Y\"; Boundary = X ", "X"),
        ("; boundary=\"a b:c\"; charset=utf-8", "a b:c"),
        (r#"; boundary="a\bc""#, "abc"),
        (
            "; boundary=----WebKitFormBoundary7MA4YWxk",
            "----WebKitFormBoundary7MA4YWxk",
        ),
        ("; boundary=a=b", "a=b"),
        ("; x; boundary=X", "X"),
        ("; boundary='()+_,-./:=?'", "'()+_,-./:=?'"),
        (&format!("; boundary={longest}"), &longest),
    ] {
        let content_type = format!("Multipart/Form-Data{parameters}");
        let expected = BodyForm::Multipart(boundary.into());
        assert_eq!(upload(&content_type), expected, "{content_type}");
    }
}

#[test]
fn parts_without_a_boundary_that_can_be_used_are_opaque() {
    let long = "b".repeat(71);
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"X",
        "multipart/form-data; boundary=\"X \"",
        "multipart/form-data; boundary=X; boundary=Y",
        "multipart/form-data; boundary=X; boundary=X",
        "multipart/form-data; boundary=a*b",
        "multipart/form-data; boundary=\u{e9}",
        "multipart/form-data; xboundary=X",
        "multipart/form-data, boundary=X",
        "multipart/mixed; boundary=X",
        "multipart/form-data2; boundary=X",
        &format!("multipart/form-data; boundary={long}"),
    ] {
        assert_eq!(upload(content_type), BodyForm::Opaque, "{content_type}");
    }
}

#[test]
fn any_other_type_is_taken_for_what_the_path_says() {
    for content_type in [
        "",
        "application/json",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart",
        "application/grpc",
        "x; y=multipart/form-data",
    ] {
        assert_eq!(upload(content_type), BodyForm::Plain, "{content_type}");
    }
}

proptest! {
    #[test]
    fn a_boundary_that_is_read_is_one(value in "multipart/form-data;[ -~]{0,90}") {
        if let BodyForm::Multipart(boundary) = upload(&value) {
            prop_assert!((1..=70).contains(&boundary.len()));
            prop_assert!(!boundary.ends_with(' ') && !boundary.contains(['\r', '"', ';']));
        }
    }

    #[test]
    fn no_value_panics(value in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut codings = Codings::default();
        codings.add(&value);
        form(&Type::of(&value), codings, true);
        form(&Type::of(&[b"multipart/form-data;boundary=", &*value].concat()), codings, true);
    }
}

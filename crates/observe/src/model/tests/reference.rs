//! Against a restorer that reads each text as a whole.

use super::*;

/// The members of an object in their order, with repetitions.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    fn of(text: &'a str) -> Option<Self> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        serde_json::Deserializer::from_str(text)
            .deserialize_map(Collect)
            .ok()
    }
}

/// A valid JSON text with the names replaced.
pub(super) fn replaced(text: &str, scent: Scent) -> String {
    let mut found = Vec::new();
    find(text, scent, &mut found);
    let mut out = String::new();
    let mut passed = 0;
    for value in found {
        let at = value.as_ptr() as usize - text.as_ptr() as usize;
        out.push_str(&text[passed..at]);
        out.push_str(&serde_json::to_string(CLIENT).unwrap());
        passed = at + value.len();
    }
    out.push_str(&text[passed..]);
    out
}

fn find<'a>(text: &'a str, scent: Scent, found: &mut Vec<&'a str>) {
    for (name, value) in Members::of(text).into_iter().flat_map(|members| members.0) {
        let value = value.get();
        let is_name = serde_json::from_str::<String>(value).is_ok_and(|value| value == ENGINE);
        match name.as_str() {
            "model" if is_name => found.push(value),
            "message" | "response" if scent == Scent::Event => find(value, Scent::Body, found),
            _ => {}
        }
    }
}

fn member() -> impl Strategy<Value = &'static str> {
    let names = [
        r#""model":"internal-a-07""#,
        r#""model" : "internal-a-07" "#,
        r#""model":"\u0069nternal\u002da-07""#,
        r#""\u006dod\u0065l":"internal-a-07""#,
        r#""model":"other""#,
        r#""model":"internal-a-""#,
        r#""model":"internal-a-07x""#,
        r#""model":null"#,
        r#""model":"""#,
        r#""model":{"model":"internal-a-07"}"#,
        r#""model":["internal-a-07",{"model":"internal-a-07"}]"#,
        r#""message":{"id":1,"model":"internal-a-07"}"#,
        r#""message": { "x":{"model":"internal-a-07"} , "model":"internal-a-07","y":[] } "#,
        r#""response":{"response":{"model":"internal-a-07"},"model":"internal-a-07"}"#,
        r#""response":[{"model":"internal-a-07"}]"#,
        r#""message":"internal-a-07""#,
        r#""content":"\"model\":\"internal-a-07\"""#,
        r#""choices":[{"model":"internal-a-07"},"model","internal-a-07"]"#,
        r#""x":"model","y":1.5e3,"z":[true,false]"#,
    ];
    proptest::sample::select(names.to_vec())
}

fn object() -> impl Strategy<Value = String> {
    proptest::collection::vec(member(), 0..6)
        .prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// The body cut at these places, in any order and whether or not they are in it.
fn cut(body: &str, places: &[usize]) -> Vec<Vec<u8>> {
    let mut places: Vec<_> = places
        .iter()
        .map(|place| place % (body.len() + 1))
        .collect();
    places.push(body.len());
    places.sort_unstable();
    let mut start = 0;
    let piece = |end: usize| {
        let piece = body.as_bytes()[start..end].to_vec();
        start = end;
        piece
    };
    places.into_iter().map(piece).collect()
}

fn places() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(any::<usize>(), 0..8)
}

proptest! {
    #[test]
    fn b41_a_body_comes_out_as_if_it_were_read_as_a_whole(body in object(), places in places()) {
        let expected = replaced(&body, Scent::Body);
        prop_assert_eq!(&restored(ContentKind::Json, &cut(&body, &places)), &expected);
        prop_assert_eq!(&restored(ContentKind::Json, &bytes_of(&body)), &expected);
        prop_assert_eq!(&restored(ContentKind::Json, &[&body]), &expected);
    }

    #[test]
    fn b41_each_event_comes_out_as_if_it_were_read_as_a_whole(
        events in proptest::collection::vec((object(), 0_usize..5), 0..5),
        places in places(),
    ) {
        let text = |object: &dyn Fn(&String) -> String| -> String {
            let event = |(event, form): &(String, usize)| {
                let json = object(event);
                match form {
                    0 => format!("data: {json}\n\n"),
                    1 => format!("event: x\r\ndata:{json}\r\n\r\n"),
                    2 => format!("data: {json}\r\r"),
                    3 => format!(": {event}\n\ndata: {json}\n\n"),
                    _ => format!("id: {event}\ndata: [DONE]\n\ndata: {json}\n: x\n\n"),
                }
            };
            events.iter().map(event).collect()
        };
        let body = text(&String::clone);
        let expected = text(&|event| replaced(event, Scent::Event));
        prop_assert_eq!(&restored(ContentKind::EventStream, &cut(&body, &places)), &expected);
        prop_assert_eq!(&restored(ContentKind::EventStream, &bytes_of(&body)), &expected);
        prop_assert_eq!(&restored(ContentKind::EventStream, &[&body]), &expected);
    }

    #[test]
    fn b40_any_bytes_pass_and_are_unchanged_without_the_name(
        pieces in proptest::collection::vec(
            prop_oneof![
                member().prop_map(|member| member.replace("07", "08").into_bytes()),
                prop_oneof![Just("data: "), Just("{"), Just("}"), Just("\n"), Just("\r"), Just("\"")]
                    .prop_map(|text| text.as_bytes().to_vec()),
                proptest::collection::vec(any::<u8>(), 0..8),
            ],
            0..16,
        ),
    ) {
        for kind in [ContentKind::EventStream, ContentKind::NdJson, ContentKind::Json] {
            prop_assert_eq!(given_on(restorer(kind), &pieces).concat(), pieces.concat());
        }
    }

    #[test]
    fn b41_where_any_bytes_are_cut_changes_nothing(
        pieces in proptest::collection::vec(
            prop_oneof![
                4 => member().prop_map(|member| member.as_bytes().to_vec()),
                4 => prop_oneof![
                    Just("data: {"), Just("data: "), Just("{"), Just("}"), Just(","), Just("\n"),
                    Just("\n\n"), Just("\r"), Just("\""),
                ]
                .prop_map(|text| text.as_bytes().to_vec()),
                1 => proptest::collection::vec(any::<u8>(), 0..4),
            ],
            0..16,
        ),
    ) {
        let body = pieces.concat();
        let bytes: Vec<_> = body.iter().map(|byte| [*byte]).collect();
        for kind in [ContentKind::EventStream, ContentKind::NdJson, ContentKind::Json] {
            let whole = given_on(restorer(kind), &[&body]).concat();
            prop_assert_eq!(given_on(restorer(kind), &pieces).concat(), whole.clone());
            prop_assert_eq!(given_on(restorer(kind), &bytes).concat(), whole);
        }
    }
}

//! The headers of a request.

use super::*;
use crate::owned::is_system_owned;
use crate::read::without_body;

/// An input is a header in each line, a name before the first colon that does not begin it.
#[test]
fn headers() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let mut headers: Vec<(String, &[u8])> = input
                .split(|byte| *byte == b'\n')
                .map(|line| {
                    let colon = line.iter().skip(1).position(|byte| *byte == b':');
                    let (name, value) = line.split_at(colon.map_or(line.len(), |at| at + 1));
                    let name = String::from_utf8_lossy(name).into_owned();
                    (name, value.get(1..).unwrap_or_default())
                })
                .collect();
            let head = head_of(&headers);
            assert!(!head.path().contains(['?', '#']));
            let facts = without_body(&head, block());
            for name in [&facts.objective, &facts.fairness_id, &facts.model_override] {
                assert!(name.as_ref().is_none_or(|it| (1..=256).contains(&it.len())));
            }
            let same = |other: &Head| {
                assert_eq!(without_body(other, block()), facts);
                assert_eq!(other.method(), head.method());
                assert_eq!(other.path(), head.path());
                assert_eq!(other.dialect(), head.dialect());
                assert_eq!(other.body(), head.body());
                assert_eq!(other.content_length(), head.content_length());
            };
            // Neither the case of a name matters, nor the order of different ones.
            for (name, _) in &mut headers {
                let upper = name.to_ascii_uppercase();
                assert_eq!(is_system_owned(name), is_system_owned(&upper));
                *name = upper;
            }
            same(&head_of(&headers));
            headers.sort_by(|(a, _), (b, _)| b.cmp(a));
            same(&head_of(&headers));
        });
}

fn head_of(headers: &[(String, &[u8])]) -> Head {
    let mut head = Head::new();
    for (name, value) in headers {
        head.header(name, value);
    }
    head
}

use super::*;

fn same_in_pieces(path: &str, body: &[u8], cuts: &[usize], block: BlockSize) {
    let read = |cuts: &[usize]| with_body(&post(path), &cut(body, cuts), block);
    let whole = read(&[]);
    assert_eq!(read(cuts), whole);
    let each_byte: Vec<_> = (0..body.len()).collect();
    assert_eq!(read(&each_byte), whole);
}

proptest! {
    #[test]
    fn cutting_the_body_elsewhere_changes_nothing(
        value in any_json(),
        name in prop::sample::select(NAMES.as_slice()),
        path in prop::sample::select(SMALLEST.map(|(path, _)| path).to_vec()),
        broken in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        let block = BlockSize::new(2).unwrap();
        let (_, body) = SMALLEST.iter().find(|row| row.0 == path).unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let whole = with(&body, &json!({name: value})).to_string();
        same_in_pieces(path, whole.as_bytes(), &cuts, block);
        same_in_pieces(path, &whole.as_bytes()[..broken.index(whole.len())], &cuts, block);
    }

    #[test]
    fn any_messages_of_a_list_are_read(
        messages in proptest::collection::vec(any_json(), 1..4),
        other in any_json(),
    ) {
        for path in [CHAT, MESSAGES, RESPONSES, EMBEDDINGS] {
            let body = json!({
                "messages": messages, "model": "m", "tools": other, "stream": other,
                "system": other, "instructions": other, "reasoning": other,
            });
            let mut body = body;
            if path == RESPONSES {
                body["input"] = json!(messages);
            }
            prop_assert!(reading(path, &body.to_string()).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        for (path, _) in SMALLEST {
            let reading = with_body(&post(path), &[Bytes::from(body.clone())], BlockSize::DEFAULT);
            let is_demanding = !dialect::form(post(path).dialect()).unwrap().demands_nothing();
            let object = body.contains(&b'{');
            prop_assert!(reading.is_err() == is_demanding || body.is_empty() || object);
        }
    }
}

#[test]
fn a_text_cut_within_a_character_or_an_escape_is_the_same_text() {
    let body = r#"{"model":"ü\ud83d\ude00","messages":[{"role":"\u0075ser","content":"中\n\ud83d\ude00é"}]}"#;
    for size in [1, 64] {
        let block = BlockSize::new(size).unwrap();
        for place in 0..=body.len() {
            same_in_pieces(CHAT, body.as_bytes(), &[place], block);
        }
    }
    assert_eq!(read(CHAT, body).model.name(), Some("ü😀"));
}

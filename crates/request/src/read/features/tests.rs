use bytes::Bytes;
use pointsman_domain::block::BlockKey;
use pointsman_domain::facts::RequestFacts;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::head::Head;
use crate::read::with_body;

/// How many ids the prompts here are.
const IDS: u32 = 16;

/// The facts of a body, read byte by byte in blocks of `size` ids.
fn read(body: &str, size: u32) -> RequestFacts {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", b"/inference/v1/generate");
    let pieces: Vec<_> = body
        .as_bytes()
        .chunks(1)
        .map(Bytes::copy_from_slice)
        .collect();
    let block = BlockSize::new(size).unwrap();
    with_body(&head, &pieces, block).unwrap().facts
}

/// The facts of a prompt with these features, in blocks of `size` ids.
fn sized(features: &Value, size: u32) -> RequestFacts {
    let ids: Vec<_> = (0..IDS).collect();
    let body = json!({"model": "m", "token_ids": ids, "features": features});
    read(&body.to_string(), size)
}

fn generate(features: &Value) -> RequestFacts {
    sized(features, 1)
}

fn keys(facts: &RequestFacts) -> Vec<BlockKey> {
    facts.block_keys(Some("m"))
}

/// How many blocks two prompts share.
fn shared(one: &RequestFacts, other: &RequestFacts) -> usize {
    let (one, other) = (keys(one), keys(other));
    one.iter().zip(&other).take_while(|(a, b)| a == b).count()
}

fn image(hash: &str, place: &Value) -> Value {
    json!({"mm_hashes": {"image": [hash]}, "mm_placeholders": {"image": [place]}})
}

/// What is told of the media: the kind and the number of tokens.
fn told(facts: &RequestFacts) -> Vec<(MediaKind, u64)> {
    let media = facts.media.iter();
    media.map(|item| (item.kind, item.tokens.0)).collect()
}

#[test]
fn b05_media_change_the_keys_from_their_place_on() {
    let plain = generate(&Value::Null);
    let place = json!({"offset": 9, "length": 3});
    let (cat, dog) = (
        generate(&image("cat", &place)),
        generate(&image("dog", &place)),
    );
    assert_eq!(shared(&cat, &dog), 9);
    assert_eq!(shared(&cat, &plain), 9);
    assert_eq!(keys(&cat), keys(&generate(&image("cat", &place))));
    assert_eq!(cat.template_inputs, 0);
    // The ids are all of the prompt, and some of them stand for the image.
    assert_eq!(
        (cat.prompt.tokens, cat.prompt.is_counted),
        (Tokens(16), true)
    );
    assert_eq!(told(&cat), [(MediaKind::Image, 3)]);
    assert_ne!(cat.media[0].content, dog.media[0].content);
    // A medium counts for the block in which it begins.
    let cat_of_four = sized(&image("cat", &place), 4);
    assert_eq!(shared(&cat_of_four, &sized(&image("dog", &place), 4)), 2);
    for other in [
        json!({"offset": 8, "length": 3}),
        json!({"offset": 9, "length": 2}),
    ] {
        assert_eq!(shared(&cat_of_four, &sized(&image("cat", &other), 4)), 2);
    }
}

#[test]
fn features_without_media_are_none() {
    let plain = generate(&Value::Null);
    for features in [
        json!({}),
        json!({"mm_hashes": null, "mm_placeholders": null}),
        json!({"mm_hashes": {}, "mm_placeholders": {}}),
        json!({"mm_hashes": {"image": []}, "mm_placeholders": {"audio": null}}),
        json!({"mm_hashes": null, "kwargs_data": {"image": ["AAAA"]}}),
    ] {
        let facts = generate(&features);
        assert_eq!(keys(&facts), keys(&plain), "{features}");
        assert_eq!((facts.media.len(), facts.template_inputs), (0, 0));
    }
}

#[test]
fn media_without_a_clear_place_change_the_whole_key() {
    let plain = generate(&Value::Null);
    let place = json!({"offset": 9, "length": 3});
    let mut unclear = vec![
        json!({"mm_hashes": {"image": ["HASH"]}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"image": []}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"video": [place]}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"image": [place, place]}}),
        json!({
            "mm_hashes": {"image": ["HASH"]},
            "mm_placeholders": {"image": [place], "video": [place]},
        }),
        json!({
            "mm_hashes": {"image": ["HASH", "a"], "video": ["b"]},
            "mm_placeholders": {"image": [place], "video": [place, place]},
        }),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": [place]}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"image": place}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"image": [[place]]}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": {"image": [9, 3]}}),
        json!({"mm_hashes": {"image": ["HASH"]}, "mm_placeholders": "9"}),
    ];
    for hashes in [
        json!("HASH"),
        json!(["HASH"]),
        json!([["HASH"]]),
        json!({"image": "HASH"}),
        json!({"image": [["HASH"]]}),
        json!({"image": [{"hash": "HASH"}]}),
        json!({"image": ["HASH", 7]}),
        json!({"image": ["HASH", null]}),
        json!({"an_image_of_which_the_name_is_too_long": ["HASH"]}),
    ] {
        unclear.push(json!({"mm_hashes": hashes, "mm_placeholders": {"image": [place]}}));
    }
    for place in [
        json!({"offset": 9}),
        json!({"length": 3}),
        json!({"offset": -1, "length": 3}),
        json!({"offset": 9.0, "length": 3}),
        json!({"offset": 9e0, "length": 3}),
        json!({"offset": "9", "length": 3}),
        json!({"offset": null, "length": 3}),
        json!({"offset": 9, "length": [3]}),
        json!({"offset": u64::from(u32::MAX) + 1, "length": 3}),
        json!({"offset": u64::MAX, "length": 3}),
        json!({"offset": 16, "length": 0}),
        json!({"offset": 14, "length": 3}),
        json!({"offset": 9, "length": u32::MAX}),
    ] {
        unclear.push(image("HASH", &place));
    }
    for features in unclear {
        let of = |hash: &str| {
            let features = features.to_string().replace("HASH", hash);
            generate(&serde_json::from_str(&features).unwrap())
        };
        assert_eq!(shared(&of("cat"), &plain), 0, "{features}");
        assert_eq!(shared(&of("cat"), &of("dog")), 0, "{features}");
        assert_eq!(keys(&of("cat")), keys(&of("cat")));
        let is_untold = told(&of("cat")).iter().all(|&(_, tokens)| tokens == 0);
        assert!(is_untold, "{features}");
    }
}

#[test]
fn what_else_a_place_says_changes_nothing() {
    let plain = generate(&image("cat", &json!({"offset": 9, "length": 3})));
    for place in [
        json!({"offset": 9, "length": 3, "is_embed": [true, false, true]}),
        json!({"is_embed": {"offset": 1, "length": [7]}, "length": 3, "offset": 9, "other": 5}),
        json!({"offset": 9, "length": 3, "is_embed": null}),
    ] {
        assert_eq!(
            keys(&generate(&image("cat", &place))),
            keys(&plain),
            "{place}"
        );
    }
}

#[test]
fn of_a_list_or_a_member_that_comes_twice_the_last_counts() {
    let body = |features: &str| {
        read(
            &format!(r#"{{"model":"m",{features}"token_ids":[1,2,3]}}"#),
            1,
        )
    };
    let hashes = r#""mm_hashes":{"image":["a"]}"#;
    let places = r#""mm_placeholders":{"image":[{"offset":1,"length":1}]}"#;
    let once = body(&format!(r#""features":{{{hashes},{places}}},"#));
    for twice in [
        format!(
            r#""features":{{"mm_hashes":{{"image":["x"]}},{hashes},"mm_placeholders":7,{places}}},"#
        ),
        format!(
            r#""features":{{"mm_hashes":[7],"mm_placeholders":{{}}}},"features":{{{places},{hashes}}},"#
        ),
        format!(
            r#""features":{{{hashes},"mm_placeholders":{{"image":[{{"offset":2,"length":7,
                "offset":1,"length":1}}]}}}},"#
        ),
    ] {
        let facts = body(&twice);
        assert_eq!(keys(&facts), keys(&once), "{twice}");
        assert_eq!(facts.media, once.media);
    }
    // Which of two groups counts is for the engine to say.
    let groups = r#""mm_hashes":{"image":["a"],"image":["a"]}"#;
    let groups = body(&format!(r#""features":{{{groups},{places}}},"#));
    assert_eq!(shared(&groups, &once), 0);
    let none = body(r#""features":{"mm_hashes":{"image":["a"]}},"features":{"mm_hashes":null},"#);
    assert_eq!(keys(&none), keys(&body("")));
}

#[test]
fn too_many_media_or_kinds_of_them_change_the_whole_key() {
    let of = |hashes: &Value, places: &Value| {
        generate(&json!({"mm_hashes": hashes, "mm_placeholders": places}))
    };
    let many = |count: usize| {
        let place = json!({"offset": 9, "length": 1});
        of(
            &json!({"image": vec!["a"; count]}),
            &json!({"image": vec![place; count]}),
        )
    };
    assert_eq!(many(PLACES_MAX).template_inputs, 0);
    assert_ne!(many(PLACES_MAX + 1).template_inputs, 0);
    assert_eq!(many(PLACES_MAX + 1).media.len(), MEDIA_MAX);
    let kinds = |count: usize| {
        let list = |item: Value| -> Value {
            let kinds = (0..count).map(|kind| (kind.to_string(), json!([item])));
            kinds.collect::<serde_json::Map<_, _>>().into()
        };
        of(&list(json!("a")), &list(json!({"offset": 9, "length": 1})))
    };
    assert_eq!(kinds(GROUPS_MAX).template_inputs, 0);
    assert_eq!(kinds(GROUPS_MAX).media.len(), GROUPS_MAX);
    assert_ne!(kinds(GROUPS_MAX + 1).template_inputs, 0);
}

#[test]
fn ids_that_are_not_one_list_have_no_places() {
    let of = |ids: &str, hash: &str| {
        let features = image(hash, &json!({"offset": 1, "length": 1}));
        let body = format!(r#"{{"model":"m","token_ids":{ids},"features":{features}}}"#);
        read(&body, 1)
    };
    for (ids, common) in [
        ("[1,2,3,4]", 1),
        ("[[1,2,3,4]]", 1),
        ("[[1,2],[3,4]]", 0),
        ("[1,2.0,3,4]", 0),
    ] {
        assert_eq!(shared(&of(ids, "cat"), &of(ids, "dog")), common, "{ids}");
    }
}

#[test]
fn prompts_that_differ_in_media_alone_are_different_sessions() {
    let session = |hash| generate(&image(hash, &json!({"offset": 1, "length": 8}))).session;
    assert!(session("cat").is_some());
    assert_eq!(session("cat"), session("cat"));
    assert_ne!(session("cat"), session("dog"));
}

#[test]
fn media_by_where_they_lie_come_before_the_ids() {
    let of = |parts: Value| {
        let body = json!({"model": "m", "token_ids": [1, 2, 3], "content_parts": parts});
        read(&body.to_string(), 1)
    };
    let cat = of(json!([{"type": "image_url", "url": "cat", "uuid": "u"}]));
    let dog = of(json!([{"url": "dog", "uuid": "u", "type": "image_url"}]));
    let plain = of(Value::Null);
    assert_eq!(told(&cat), [(MediaKind::Image, 256)]);
    assert_eq!(told(&dog), [(MediaKind::Image, 256)]);
    assert_eq!(shared(&cat, &plain), 0);
    assert_ne!(keys(&cat), keys(&dog));
    assert!(cat.prompt.tokens > Tokens(256) && !cat.prompt.is_counted);
    assert_eq!(
        (plain.prompt.tokens, plain.prompt.is_counted),
        (Tokens(3), true)
    );
    // What is known to the engine is no part of the body.
    let [known, other] = ["a", "b"].map(|uuid| of(json!([{"type": "audio_url", "uuid": uuid}])));
    assert_ne!(keys(&known), keys(&other));
}

const KINDS: [&str; 4] = ["audio", "image", "other", "video"];

/// The kind, the hash, the offset and the length of a medium.
type Medium = (&'static str, String, u32, u32);

/// Media of some kinds at places that the prompt has.
fn any_media() -> impl Strategy<Value = Vec<Medium>> {
    let offset_and_length = (0..IDS).prop_flat_map(|offset| (Just(offset), 0..=IDS - offset));
    let medium = (
        prop::sample::select(&KINDS[..]),
        "[a-c]{0,2}",
        offset_and_length,
    )
        .prop_map(|(kind, hash, (offset, length))| (kind, hash, offset, length));
    proptest::collection::vec(medium, 0..6)
}

/// Both lists, of which the kinds come in this order.
fn listed(media: &[Medium], kinds: &[&str]) -> String {
    let list = |item: &dyn Fn(&Medium) -> Value| {
        let groups = kinds.iter().map(|kind| {
            let items = media.iter().filter(|medium| medium.0 == *kind).map(item);
            format!(r#""{kind}":{}"#, Value::from_iter(items))
        });
        groups.collect::<Vec<_>>().join(",")
    };
    let hashes = list(&|medium| json!(medium.1));
    let places = list(&|medium| json!({"offset": medium.2, "length": medium.3}));
    format!(r#"{{"mm_placeholders":{{{places}}},"mm_hashes":{{{hashes}}}}}"#)
}

proptest! {
    #[test]
    fn what_is_put_into_a_place_changes_that_block_and_no_block_before_it(
        media in any_media(),
        changed in any::<prop::sample::Index>(),
        kinds in Just(KINDS.to_vec()).prop_shuffle(),
        size in 1..6_u32,
    ) {
        let of = |media: &[_], kinds: &[&str]| {
            let ids: Vec<_> = (0..IDS).collect();
            let features = listed(media, kinds);
            read(&format!(r#"{{"model":"m","token_ids":{ids:?},"features":{features}}}"#), size)
        };
        let facts = of(&media, &KINDS);
        prop_assert_eq!(facts.template_inputs, 0);
        prop_assert_eq!(facts.media.len(), media.len());
        // The order of the kinds is no part of the prompt.
        prop_assert_eq!(keys(&of(&media, &kinds)), keys(&facts));
        if !media.is_empty() {
            let mut other = media.clone();
            let medium = changed.get_mut(&mut other);
            medium.1.push('x');
            let block = (medium.2 / size) as usize;
            let expected = block.min(facts.prompt.blocks.len());
            prop_assert_eq!(shared(&of(&other, &KINDS), &facts), expected);
        }
    }

    #[test]
    fn no_medium_is_left_out_whatever_else_is_said(
        hashes in proptest::collection::vec(
            proptest::collection::vec("[ab]{0,1}", 0..3), KINDS.len()),
        others in proptest::collection::vec(
            proptest::collection::vec("[ab]{0,1}", 0..3), KINDS.len()),
        places in proptest::collection::vec(proptest::option::of(
            proptest::collection::vec((0..18_u32, 0..4_u32), 0..3)), KINDS.len()),
    ) {
        let places: Value = KINDS.into_iter().zip(&places).map(|(kind, places)| {
            let places = places.as_ref().map(|places| -> Value {
                places.iter().map(|(offset, length)| json!({"offset": offset, "length": length}))
                    .collect()
            });
            (kind.to_owned(), json!(places))
        }).collect::<serde_json::Map<_, _>>().into();
        let of = |hashes: &[Vec<String>]| {
            let hashes: serde_json::Map<_, _> = KINDS.into_iter().zip(hashes)
                .map(|(kind, hashes)| (kind.to_owned(), json!(hashes))).collect();
            keys(&generate(&json!({"mm_hashes": hashes, "mm_placeholders": places})))
        };
        prop_assert_eq!(of(&hashes) == of(&others), hashes == others);
    }
}

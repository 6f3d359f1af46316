use core::hint::black_box;

use super::*;

/// Rows of every make. They are given at run time, since tables are made when the crate is compiled.
fn groups() -> [Vec<Row>; 3] {
    black_box([
        vec![fact("model", Fact::Model), segment("messages", 1)],
        vec![],
        vec![
            inner("reasoning", &["effort"], Fact::Effort),
            template("reasoning"),
            template_and("salt", Fact::Salt),
            listing("features", &["mm_hashes"], Listing::Hashes),
        ],
    ])
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.name).collect()
}

#[test]
fn groups_are_joined_in_their_order() {
    let groups = groups();
    let groups: Vec<&[Row]> = groups.iter().map(|group| &group[..]).collect();
    let expected = [
        "model",
        "messages",
        "reasoning",
        "reasoning",
        "salt",
        "features",
    ];
    assert_eq!(count(&groups), expected.len());
    assert_eq!(names(&joined::<6>(&groups)), expected);
    // A table that is too small or too large is no reason to panic.
    assert_eq!(names(&joined::<4>(&groups)), expected[..4]);
    assert_eq!(names(&joined::<7>(&groups))[6], "");
    assert_eq!((count(&[]), joined::<0>(&[]).len()), (0, 0));
}

#[test]
fn a_row_gives_what_it_was_made_for_and_nothing_else() {
    let [first, _, last] = groups();
    let rows = [first, last].concat();
    let gives = |row: &Row| (row.fact, row.is_template, row.segment, row.listing);
    let given: Vec<_> = rows.iter().map(gives).collect();
    assert_eq!(
        given,
        [
            (Some(Fact::Model), false, None, None),
            (None, false, Some(1), None),
            (Some(Fact::Effort), false, None, None),
            (None, true, None, None),
            (Some(Fact::Salt), true, None, None),
            (None, true, None, Some(Listing::Hashes)),
        ]
    );
    let depths: Vec<_> = rows.iter().map(Row::depth).collect();
    assert_eq!(depths, [1, 1, 2, 1, 1, 2]);
    let effort = rows[2];
    let path: Vec<_> = (0..4).map(|depth| effort.name_at(depth)).collect();
    assert_eq!(path, [None, Some("reasoning"), Some("effort"), None]);
}

#[test]
fn rows_are_listed_by_the_lengths_of_their_names() {
    let rows: &'static [Row] = Box::leak(groups().concat().into_boxed_slice());
    let segments = Box::leak(Box::new([
        optional(SegmentKind::Tools),
        demanded(SegmentKind::Messages, "messages", "a list"),
    ]));
    let form = Form::new(rows, segments, ModelRule::Kept);
    for (length, set) in form.rows_by_length.into_iter().enumerate() {
        let expected = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.name.len() == length);
        let expected = expected.fold(0, |set, (index, _)| set | 1 << index);
        assert_eq!(set, expected, "{length}");
    }
    assert!(!form.demands_nothing());
    let demands = form
        .segments
        .iter()
        .map(|segment| segment.demand.map(|it| it.field));
    assert!(demands.eq([None, Some("messages")]));
}

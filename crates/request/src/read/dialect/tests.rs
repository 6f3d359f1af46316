use pointsman_domain::facts::Dialect;

use super::*;
use crate::read::form::{DEPTH_MAX, Fact, NAME_BYTES_MAX, Row};

const ALL: [Dialect; 15] = [
    Dialect::ChatCompletions,
    Dialect::Completions,
    Dialect::Embeddings,
    Dialect::Responses,
    Dialect::Conversations,
    Dialect::Images,
    Dialect::Messages,
    Dialect::CountTokens,
    Dialect::Generate,
    Dialect::SglangGenerate,
    Dialect::GrpcGenerate,
    Dialect::GrpcEmbed,
    Dialect::ByModel,
    Dialect::Multipart,
    Dialect::Passthrough,
];

fn rows() -> impl Iterator<Item = (Dialect, &'static Form, &'static Row)> {
    ALL.into_iter()
        .filter_map(|dialect| Some((dialect, form(dialect)?)))
        .flat_map(|(dialect, form)| form.rows.iter().map(move |row| (dialect, form, row)))
}

fn path(row: &Row) -> Vec<&'static str> {
    (1..=row.depth())
        .filter_map(|depth| row.name_at(depth))
        .collect()
}

#[test]
fn every_table_fits_into_what_the_reader_has_for_it() {
    for (dialect, form, row) in rows() {
        assert!(form.rows.len() <= 64, "{dialect:?}");
        assert!(row.depth() <= DEPTH_MAX, "{dialect:?} {row:?}");
        for name in path(row) {
            assert!(!name.is_empty() && name.len() <= NAME_BYTES_MAX, "{name}");
        }
    }
}

#[test]
fn every_row_gives_something_and_every_segment_is_given_once() {
    for (dialect, _, row) in rows() {
        let gives = row.fact.is_some() || row.is_template || row.segment.is_some();
        assert!(gives, "{dialect:?} {row:?}");
        assert!(row.fact != Some(Fact::Model) || row.depth() == 1, "{row:?}");
    }
    for form in ALL.into_iter().filter_map(form) {
        let mut given: Vec<_> = form.rows.iter().filter_map(|row| row.segment).collect();
        given.sort_unstable();
        assert!(given.into_iter().eq(0..form.segments.len()));
    }
}

#[test]
fn no_member_is_hashed_twice_at_a_time() {
    for (dialect, form, row) in rows() {
        let path_of_row = path(row);
        for other in form.rows {
            let overlaps = path(other).starts_with(&path_of_row) && !core::ptr::eq(row, other);
            let both_templates = row.is_template && other.is_template;
            let both_segments = row.segment.is_some() && other.segment.is_some();
            assert!(
                !overlaps || !(both_templates || both_segments),
                "{dialect:?} {row:?} {other:?}"
            );
        }
    }
}

#[test]
fn a_demand_is_named_as_its_member() {
    for (dialect, form, row) in rows() {
        let demand = row.segment.and_then(|index| form.segments[index].demand);
        if let Some(demand) = demand {
            assert_eq!(path(row), [demand.field], "{dialect:?}");
        }
    }
}

#[test]
fn rows_are_found_by_the_length_of_their_names() {
    for (dialect, form, row) in rows() {
        let index = form
            .rows
            .iter()
            .position(|other| core::ptr::eq(row, other))
            .unwrap();
        for (length, found) in form.rows_by_length.iter().enumerate() {
            let is_found = found & (1 << index) != 0;
            assert_eq!(is_found, length == row.name.len(), "{dialect:?} {row:?}");
        }
    }
}

#[test]
fn only_paths_without_demands_leave_every_fault_to_the_engine() {
    for dialect in ALL {
        let demands_nothing = form(dialect).is_some_and(Form::demands_nothing);
        let expected = matches!(
            dialect,
            Dialect::Conversations | Dialect::ByModel | Dialect::Multipart
        );
        assert_eq!(demands_nothing, expected, "{dialect:?}");
    }
}

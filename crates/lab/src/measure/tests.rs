use super::*;

#[test]
fn a_quantile_is_interpolated_between_its_neighbours() {
    let values = [1.0, 2.0, 4.0];
    assert_eq!(quantile(&values, 0.0), Some(1.0));
    assert_eq!(quantile(&values, 0.5), Some(2.0));
    assert_eq!(quantile(&values, 0.75), Some(3.0));
    assert_eq!(quantile(&values, 1.0), Some(4.0));
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn a_prefix_that_goes_elsewhere_the_second_time_has_moved() {
    let scenario = crate::builtin::find("s19").unwrap().scenario().unwrap();
    let setup = &scenario.case("grows").unwrap().setup;
    let policy = crate::policy::find("consistent-hash").unwrap();
    let policy = crate::policy::Policy::parse(policy.name, policy.text).unwrap();
    let outcome = crate::world::World::new(setup, &policy, 1).run().unwrap();
    let measures = Measures::of(setup, &outcome);
    // Each prefix is sent twice, and only the second time can be elsewhere.
    let (all, after) = (
        measures.get("moved_share"),
        measures.get("after.moved_share"),
    );
    assert_eq!(all, after);
    assert!((0.17..0.23).contains(&all.unwrap()), "{all:?}");
}

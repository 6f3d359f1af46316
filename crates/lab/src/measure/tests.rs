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

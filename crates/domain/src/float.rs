//! Numbers in files. JSON has no word for a float that is not finite, so those are written by name:
//! what was infinite must not come back as missing.

use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// Writes a finite number as a number, and any other by its name.
pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        to.serialize_f64(*value)
    } else if value.is_nan() {
        to.serialize_str(NAN)
    } else if *value > 0.0 {
        to.serialize_str(INFINITY)
    } else {
        to.serialize_str(NEGATIVE_INFINITY)
    }
}

/// Reads what [`serialize`] writes.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_any(Number)
}

/// The same where the number may be missing.
pub(crate) mod option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the number, if there is one.
    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        value.map(Present).serialize(to)
    }

    /// Reads the number, if there is one.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        let present = Option::<Present>::deserialize(from)?;
        Ok(present.map(|Present(value)| value))
    }

    #[derive(Serialize, Deserialize)]
    struct Present(#[serde(with = "super")] f64);
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a number, {NAN:?}, {INFINITY:?} or {NEGATIVE_INFINITY:?}"
        )
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<f64, E> {
        match name {
            NAN => Ok(f64::NAN),
            INFINITY => Ok(f64::INFINITY),
            NEGATIVE_INFINITY => Ok(f64::NEG_INFINITY),
            _ => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }
}

const NAN: &str = "NaN";
const INFINITY: &str = "Infinity";
const NEGATIVE_INFINITY: &str = "-Infinity";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        value: f64,
        #[serde(with = "super::option")]
        perhaps: Option<f64>,
    }

    fn round_trip(value: f64, perhaps: Option<f64>) -> (f64, Option<f64>) {
        let text = serde_json::to_string(&Holder { value, perhaps }).unwrap();
        let back: Holder = serde_json::from_str(&text).unwrap();
        (back.value, back.perhaps)
    }

    #[test]
    fn numbers_that_are_not_finite_come_back_as_they_were() {
        for value in [f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(round_trip(value, Some(value)), (value, Some(value)));
        }
        let (value, perhaps) = round_trip(f64::NAN, Some(f64::NAN));
        assert!(value.is_nan() && perhaps.is_some_and(f64::is_nan));
        assert_eq!(round_trip(0.0, None).1, None);
    }

    #[test]
    fn whole_numbers_are_numbers_and_other_words_are_not() {
        let read = |value: &str| -> serde_json::Result<Holder> {
            serde_json::from_str(&format!(r#"{{"value":{value},"perhaps":{value}}}"#))
        };
        assert_eq!(read("-3").unwrap().perhaps, Some(-3.0));
        assert_eq!(read("7").unwrap().perhaps, Some(7.0));
        let error = read(r#""nan""#).err().unwrap().to_string();
        assert!(error.contains("\"Infinity\""), "{error}");
    }

    proptest! {
        #[test]
        fn every_finite_number_comes_back_bit_for_bit(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let (back, perhaps) = round_trip(value, Some(value));
            prop_assert_eq!(back.to_bits(), bits);
            prop_assert_eq!(perhaps.map(f64::to_bits), Some(bits));
        }
    }
}

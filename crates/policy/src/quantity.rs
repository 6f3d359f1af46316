//! Quantities in Kubernetes' form: `100`, `1G`, `512Mi`, `1.5k`, `2e9`.

use crate::problem::quoted;

/// Reads a quantity as a whole number; a fraction is rounded up, as Kubernetes does.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits_end);
    let exact = number_of(number).zip(scale_of(suffix));
    let Some((mantissa, scale)) = exact else {
        return Err(format!(
            "{} is not a quantity: write it like `100`, `512Mi` or `1G`",
            quoted(text)
        ));
    };
    mantissa
        .times(scale)
        .ok_or_else(|| format!("{} is too large: write at most `9E`", quoted(text)))
}

/// A decimal number: `digits / 10^places`.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    /// The number times `scale`, rounded up.
    fn times(self, scale: Scale) -> Option<u64> {
        let Scale { factor, tens } = scale;
        let mut value = self.digits.checked_mul(factor)?;
        let tens = tens - i64::from(self.places);
        let step = 10_u128.checked_pow(u32::try_from(tens.unsigned_abs()).ok()?);
        value = match step {
            _ if value == 0 => 0,
            Some(step) if tens >= 0 => value.checked_mul(step)?,
            Some(step) => value.div_ceil(step),
            None if tens >= 0 => return None,
            // Less than one of anything is rounded up to one.
            None => 1,
        };
        u64::try_from(value)
            .ok()
            .filter(|&value| value <= i64::MAX.unsigned_abs())
    }
}

/// A factor and a power of ten.
struct Scale {
    factor: u128,
    tens: i64,
}

fn number_of(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    // 20 digits take 67 of 128 bits, which leaves room for the largest factor.
    if digits.is_empty() || digits.len() > 20 || fraction.contains('.') {
        return None;
    }
    Some(Decimal {
        digits: digits.parse().ok()?,
        places: u32::try_from(fraction.len()).ok()?,
    })
}

fn scale_of(suffix: &str) -> Option<Scale> {
    let decimal = |tens| Some(Scale { factor: 1, tens });
    let binary = |bits: u32| {
        Some(Scale {
            factor: 1 << bits,
            tens: 0,
        })
    };
    match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            decimal(
                plain
                    .then(|| exponent.parse::<i16>().ok())
                    .flatten()?
                    .into(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        for (text, value) in [
            ("0", 0),
            ("100", 100),
            ("1k", 1_000),
            ("1G", 1_000_000_000),
            ("512Mi", 536_870_912),
            ("1.5Gi", 1_610_612_736),
            ("2e3", 2_000),
            ("2E3", 2_000),
            ("1E", 1_000_000_000_000_000_000),
            ("1500m", 2),
            ("1n", 1),
            ("1e-300", 1),
            ("0e300", 0),
            (".5k", 500),
            ("7Ei", 8_070_450_532_247_928_832),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_told_with_an_example() {
        for text in [
            "", "G", "-1", "+1", "1GB", "1 G", "1.2.3", "1e", "1e+", "1e1.5", "ten", "1ki",
        ] {
            assert!(parse(text).unwrap_err().contains("write it like"), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_too_large() {
        for text in ["10E", "8Ei", "1e300", "1e32767", "99999999999999999999"] {
            assert!(parse(text).unwrap_err().contains("too large"), "{text}");
        }
    }
}

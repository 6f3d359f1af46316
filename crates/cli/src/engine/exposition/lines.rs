//! Lines of a metrics page, as the Python client that vLLM uses writes them.

use core::fmt::{self, Write};

use super::super::histogram::Histogram;

/// A page that is being written.
pub(super) struct Lines<'a> {
    page: &'a mut dyn Write,
    /// The model's name, which labels most samples.
    model: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(page: &'a mut dyn Write, model: &'a str) -> Self {
        Self { page, model }
    }

    /// Begins a family.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        writeln!(self.page, "# HELP {name} {help}\n# TYPE {name} {kind}")
    }

    /// A family of one sample with the labels of the engine and the model.
    pub(super) fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) -> fmt::Result {
        self.family(name, kind, help)?;
        self.of_model(name, &[], value)
    }

    /// A sample with the labels of the engine and the model, and others whose names stand between
    /// these or behind them: labels are sorted.
    pub(super) fn of_model(
        &mut self,
        name: &str,
        others: &[(&str, &str)],
        value: f64,
    ) -> fmt::Result {
        let own = [("engine", "0"), ("model_name", self.model)];
        let mut labels: Vec<_> = own.iter().chain(others).copied().collect();
        labels.sort_unstable();
        self.sample(name, &labels, value)
    }

    /// A histogram with the labels of the engine and the model.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        histogram: &Histogram,
    ) -> fmt::Result {
        self.family(name, "histogram", help)?;
        let bucket = format!("{name}_bucket");
        for (bound, count) in histogram.buckets() {
            let bound = Number(bound).to_string();
            self.of_model(&bucket, &[("le", &bound)], count as f64)?;
        }
        let count = histogram.count() as f64;
        self.of_model(&bucket, &[("le", "+Inf")], count)?;
        self.of_model(&format!("{name}_count"), &[], count)?;
        self.of_model(&format!("{name}_sum"), &[], histogram.sum())
    }

    /// A sample with these labels.
    pub(super) fn sample(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        value: f64,
    ) -> fmt::Result {
        self.page.write_str(name)?;
        let mut before = '{';
        for (label, text) in labels {
            write!(self.page, "{before}{label}=\"{}\"", Escaped(text))?;
            before = ',';
        }
        let end = if labels.is_empty() { "" } else { "}" };
        writeln!(self.page, "{end} {}", Number(value))
    }
}

/// The value of a label.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// A number. From a million on it has an exponent, of two digits at least.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = format!("{:e}", self.0);
        match plain.split_once('e') {
            Some((mantissa, exponent)) if self.0 >= EXPONENT_FROM => {
                write!(f, "{mantissa}e+{exponent:0>2}")
            }
            _ => write!(f, "{:?}", self.0),
        }
    }
}

const EXPONENT_FROM: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (0.001, "0.001"),
            (2560.0, "2560.0"),
            (999_999.5, "999999.5"),
            (1e6, "1e+06"),
            (1_789_828_498.802_105, "1.789828498802105e+09"),
            (1e19, "1e+19"),
        ] {
            assert_eq!(Number(number).to_string(), text);
        }
    }

    #[test]
    fn a_histogram_ends_with_its_count_and_its_sum() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        for value in [0.25, 0.75, 3.0] {
            histogram.observe(value);
        }
        let mut page = String::new();
        let mut lines = Lines::new(&mut page, "m");
        lines.histogram("wait", "How long.", &histogram).unwrap();
        assert_eq!(
            page,
            "# HELP wait How long.\n\
             # TYPE wait histogram\n\
             wait_bucket{engine=\"0\",le=\"0.5\",model_name=\"m\"} 1.0\n\
             wait_bucket{engine=\"0\",le=\"1.0\",model_name=\"m\"} 2.0\n\
             wait_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} 3.0\n\
             wait_count{engine=\"0\",model_name=\"m\"} 3.0\n\
             wait_sum{engine=\"0\",model_name=\"m\"} 4.0\n"
        );
    }

    #[test]
    fn b51_a_label_keeps_its_own_marks() {
        let mut page = String::new();
        let mut lines = Lines::new(&mut page, "m");
        lines.sample("a", &[("b", "c\"\\\n")], 1.0).unwrap();
        lines.sample("a", &[], 2.0).unwrap();
        assert_eq!(page, "a{b=\"c\\\"\\\\\\n\"} 1.0\na 2.0\n");
    }
}

//! What is wrong with a configuration, and where.

use core::fmt;
use std::collections::BTreeSet;

/// One thing that is wrong, or that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as in `plugins[2].parameters.threshold`; empty for the text as a whole.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write_line(f, &self.path)?;
            f.write_str(": ")?;
        }
        write_line(f, &self.message)
    }
}

/// All that is wrong with a configuration. Prints one line for each problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}

/// Problems and warnings while a configuration is being read.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    paths: BTreeSet<String>,
    left_out: usize,
}

impl Findings {
    /// Notes a problem. The first one of a path counts, for the path and for all below it: later
    /// ones follow from it.
    pub(crate) fn problem(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let path = path.into();
        let ends = path.match_indices(['.', '[']);
        let mut above = ends.filter_map(|(end, _)| path.get(..end));
        if self.paths.contains(&path) || above.any(|above| self.paths.contains(above)) {
            return;
        }
        if self.problems.len() >= PROBLEMS_MAX {
            self.left_out += 1;
            return;
        }
        self.paths.insert(path.clone());
        self.problems.push(Problem {
            path,
            message: message.into(),
        });
    }

    /// Notes something that is accepted and has no effect.
    pub(crate) fn warning(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.warnings.len() < PROBLEMS_MAX {
            self.warnings.push(Problem {
                path: path.into(),
                message: message.into(),
            });
        }
    }

    /// The value with the warnings, or the problems.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<(T, Vec<Problem>), Problems> {
        if self.problems.is_empty() {
            return Ok((value, self.warnings));
        }
        self.problems
            .sort_by_cached_key(|problem| pieces(&problem.path));
        if self.left_out > 0 {
            let message = format!("and {} more problems", self.left_out);
            self.problems.push(Problem {
                path: String::new(),
                message,
            });
        }
        Err(Problems(self.problems))
    }

    /// The end of a message: which of `known` was meant if one is close, else what to do.
    pub(crate) fn suggestion<'k>(
        &self,
        written: &str,
        known: impl IntoIterator<Item = &'k str>,
        remedy: &str,
    ) -> String {
        // A message that will be left out is not worth a search.
        let is_told = self.problems.len() < PROBLEMS_MAX;
        match is_told.then(|| nearest(written, known)).flatten() {
            Some(name) => format!(", did you mean `{name}`?"),
            None => format!(": {remedy}"),
        }
    }
}

/// A word of the user's inside a message: in backticks, cut if it is long.
pub(crate) fn quoted(word: &str) -> String {
    match word.char_indices().nth(QUOTED_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}...`", word.get(..end).unwrap_or_default()),
        None => format!("`{word}`"),
    }
}

/// Writes `text` so that it stays on one line, whatever the user put into a name.
fn write_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for character in text.chars() {
        if character.is_control() {
            write!(f, "{}", character.escape_default())?;
        } else {
            write!(f, "{character}")?;
        }
    }
    Ok(())
}

/// A path in parts that sort as a reader counts: `plugins[2]` before `plugins[10]`.
fn pieces(path: &str) -> Vec<(u64, String)> {
    let split = path
        .split(['.', '[', ']'])
        .filter(|piece| !piece.is_empty());
    split
        .map(|piece| (piece.parse().unwrap_or(u64::MAX), piece.to_owned()))
        .collect()
}

/// The name that `written` most likely was meant to be.
fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let written = written.to_lowercase();
    let length = written.chars().count();
    if length > QUOTED_CHARACTERS_MAX {
        return None;
    }
    let far = (length / 3).max(1);
    let near = known
        .into_iter()
        .map(|name| (distance(&written, &name.to_lowercase()), name));
    near.filter(|&(distance, _)| distance <= far)
        .min()
        .map(|(_, name)| name)
}

/// How many characters must be added, removed or changed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, left) in one.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        let mut next = vec![before];
        for (&right, &above) in other.iter().zip(row.iter().skip(1)) {
            let change = diagonal + usize::from(left != right);
            diagonal = above;
            before = change.min(above + 1).min(before + 1);
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// How many problems one reading tells of; further ones are counted.
const PROBLEMS_MAX: usize = 200;

/// How much of a word a message repeats; no name is longer.
const QUOTED_CHARACTERS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_changes() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_a_close_name_is_suggested() {
        let known = ["queue-scorer", "prefix-cache-scorer", "max-score-picker"];
        assert_eq!(nearest("queue-scorrer", known), Some("queue-scorer"));
        assert_eq!(nearest("QueueScorer", known), Some("queue-scorer"));
        assert_eq!(nearest("roundrobin", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"queue".repeat(1000), known), None);
    }

    #[test]
    fn a_problem_is_one_line_whatever_the_name() {
        let problem = Problem {
            path: "a\nb".to_owned(),
            message: "c\r\u{7}d".to_owned(),
        };
        assert_eq!(problem.to_string(), "a\\nb: c\\r\\u{7}d");
    }

    #[test]
    fn problems_over_the_limit_are_counted() {
        let mut findings = Findings::default();
        for index in 0..PROBLEMS_MAX + 3 {
            findings.problem(format!("p[{index}]"), "is wrong");
        }
        let problems = findings.finish(()).unwrap_err();
        assert_eq!(problems.0.len(), PROBLEMS_MAX + 1);
        assert!(problems.to_string().ends_with("and 3 more problems"));
    }

    #[test]
    fn the_first_problem_of_a_path_counts_for_all_below_it() {
        let mut findings = Findings::default();
        for path in [
            "a[1]",
            "a[1]",
            "a[1].b",
            "a[1][0].c",
            "a[10]",
            "a[2].b",
            "a[2]",
            "ab",
        ] {
            findings.problem(path, "wrong");
        }
        let told = findings.finish(()).unwrap_err().to_string();
        assert_eq!(
            told,
            "a[1]: wrong\na[2]: wrong\na[2].b: wrong\na[10]: wrong\nab: wrong"
        );
    }
}

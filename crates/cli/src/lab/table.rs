//! Tables for a terminal of [`WIDTH_MAX`] columns.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::estimate::Estimate;

/// What one policy measured in one case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) policy: String,
    pub(super) cells: Vec<Cell>,
}

/// One measure over all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// `None` if not every seed has it.
    pub(super) value: Option<Estimate>,
    /// Its difference to the first policy's, seed by seed.
    pub(super) difference: Option<Estimate>,
}

/// The rows under the names of the measures. What is too wide continues in a second table.
pub(super) fn measures(names: &[String], rows: &[Row]) -> String {
    let policies = Column::policies(rows);
    let mut tables: Vec<Vec<Column>> = Vec::new();
    let mut width = usize::MAX;
    for (index, name) in names.iter().enumerate() {
        let column = Column::measure(name, index, rows);
        if width.saturating_add(column.width()) > WIDTH_MAX {
            tables.push(vec![policies.clone()]);
            width = policies.width();
        }
        width += column.width();
        if let Some(table) = tables.last_mut() {
            table.push(column);
        }
    }
    let tables: Vec<String> = tables.iter().map(|columns| aligned(columns)).collect();
    tables.join("\n\n")
}

/// Lines of words; those that do not fit are broken at spaces.
pub(super) fn words(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = plain();
    table
        .set_header(header.to_vec())
        .add_rows(rows)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH_MAX as u16);
    trimmed(&mut table)
}

/// Lines of figures, the first column left and the others right.
pub(super) fn figures(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = plain();
    table.set_header(header.to_vec()).add_rows(rows);
    align(&mut table);
    trimmed(&mut table)
}

/// With as many digits as a reader can use.
pub(super) fn figure(value: f64) -> String {
    format!("{value:.*}", decimals(value, None))
}

/// One column, line by line.
#[derive(Clone, Debug)]
struct Column {
    header: String,
    lines: Vec<String>,
}

impl Column {
    fn policies(rows: &[Row]) -> Self {
        let lines = rows.iter().map(|row| {
            if row.has_difference() {
                format!("{}\n  difference", row.policy)
            } else {
                row.policy.clone()
            }
        });
        Self {
            header: "policy".to_owned(),
            lines: lines.collect(),
        }
    }

    fn measure(name: &str, index: usize, rows: &[Row]) -> Self {
        let lines = rows.iter().map(|row| {
            let cell = row.cells.get(index).copied().unwrap_or_default();
            if row.has_difference() {
                format!("{}\n{}", cell.value(), cell.difference())
            } else {
                cell.value()
            }
        });
        Self {
            header: broken(name),
            lines: lines.collect(),
        }
    }

    fn width(&self) -> usize {
        let texts = self.lines.iter().chain([&self.header]);
        let widths = texts
            .flat_map(|text| text.lines())
            .map(|line| line.chars().count());
        widths.max().unwrap_or(0) + GAP
    }
}

impl Row {
    fn has_difference(&self) -> bool {
        self.cells.iter().any(|cell| cell.difference.is_some())
    }
}

impl Cell {
    fn value(&self) -> String {
        let Some(Estimate { mean, margin }) = self.value else {
            return NOTHING.to_owned();
        };
        let digits = decimals(mean, margin);
        match margin {
            Some(margin) => format!("{mean:.digits$}±{margin:.digits$}"),
            None => format!("{mean:.digits$}"),
        }
    }

    /// With the digits of the larger of the two numbers.
    fn difference(&self) -> String {
        let (Some(value), Some(difference)) = (self.value, self.difference) else {
            return NOTHING.to_owned();
        };
        let larger = value.mean.abs().max(difference.mean.abs());
        let digits = decimals(larger, difference.margin);
        let margin = difference.margin.unwrap_or(0.0);
        format!("{:+.digits$}±{margin:.digits$}", difference.mean)
    }
}

/// Four digits, and none behind the point of a number that is certainly a whole one.
fn decimals(mean: f64, margin: Option<f64>) -> usize {
    let is_whole = mean.fract().abs() < f64::EPSILON;
    if is_whole && margin.is_none_or(|margin| margin < f64::EPSILON) {
        return 0;
    }
    match mean.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        0.1.. => 3,
        0.01.. => 4,
        f64::MIN_POSITIVE.. => 5,
        _ => 3,
    }
}

/// A long name on several lines.
pub(super) fn broken(name: &str) -> String {
    let mut lines = vec![String::new()];
    for word in name.split_inclusive(['_', '.', '-']) {
        let fits = |line: &&mut String| line.is_empty() || line.len() + word.len() <= HEADER_WIDTH;
        match lines.last_mut().filter(fits) {
            Some(line) => line.push_str(word),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn aligned(columns: &[Column]) -> String {
    let mut table = plain();
    table.set_header(columns.iter().map(|column| column.header.clone()));
    let rows = columns.first().map_or(0, |column| column.lines.len());
    for row in 0..rows {
        let cells = columns.iter().filter_map(|column| column.lines.get(row));
        table.add_row(cells.cloned());
    }
    align(&mut table);
    trimmed(&mut table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    table
}

fn align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn trimmed(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    table.trim_fmt()
}

/// Columns of a table in print and on most terminals.
const WIDTH_MAX: usize = 110;

const HEADER_WIDTH: usize = 12;

const GAP: usize = 2;

const NOTHING: &str = "–";

#[cfg(test)]
mod tests;

//! Tables for a terminal, and the numbers in them.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Lines of words; those that do not fit are broken at spaces.
pub(crate) fn words(header: &[&str], rows: Vec<Vec<String>>) -> String {
    words_within(width_max(), header, rows)
}

/// Lines of figures, the first column left and the others right. Columns that do not fit continue
/// in a table below, behind the first column again.
pub(crate) fn figures(header: &[&str], rows: Vec<Vec<String>>) -> String {
    figures_within(width_max(), header, &rows)
}

/// With as many digits as a reader can use.
pub(crate) fn figure(value: f64) -> String {
    format!("{value:.*}", decimals(value))
}

/// The digits behind the point: four in all, and none of a whole number.
pub(crate) fn decimals(value: f64) -> usize {
    if value.fract().abs() < f64::EPSILON {
        return 0;
    }
    decimals_of_fraction(value)
}

/// The digits behind the point, four in all, of a number that only seems whole if it does.
pub(crate) fn decimals_of_fraction(value: f64) -> usize {
    match value.abs() {
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
pub(crate) fn broken(name: &str) -> String {
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

/// The terminal's width, in bounds within which a table can be read. What is not a terminal gets
/// the upper one.
fn width_max() -> usize {
    let width = terminal_size::terminal_size_of(std::io::stdout());
    width.map_or(WIDTH_MAX, |(width, _)| {
        usize::from(width.0).clamp(WIDTH_MIN, WIDTH_MAX)
    })
}

fn words_within(width_max: usize, header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = plain();
    table
        .set_header(header.to_vec())
        .add_rows(rows)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width_max).unwrap_or(u16::MAX));
    trimmed(&mut table)
}

fn figures_within(width_max: usize, header: &[&str], rows: &[Vec<String>]) -> String {
    let mut columns = header.iter().enumerate().map(|(index, header)| Column {
        header: (*header).to_owned(),
        lines: rows
            .iter()
            .map(|row| row.get(index).cloned().unwrap_or_default())
            .collect(),
    });
    let Some(names) = columns.next() else {
        return String::new();
    };
    let mut width = names.width();
    let mut tables = vec![vec![names.clone()]];
    for column in columns {
        let is_full = width + column.width() > width_max && width > names.width();
        if is_full {
            tables.push(vec![names.clone()]);
            width = names.width();
        }
        width += column.width();
        if let Some(table) = tables.last_mut() {
            table.push(column);
        }
    }
    let tables: Vec<String> = tables.iter().map(|columns| aligned(columns)).collect();
    tables.join("\n\n")
}

/// One column, cell by cell.
#[derive(Clone, Debug)]
struct Column {
    header: String,
    lines: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let texts = self.lines.iter().chain([&self.header]);
        let widths = texts
            .flat_map(|text| text.lines())
            .map(|line| line.chars().count());
        widths.max().unwrap_or(0) + GAP
    }
}

fn aligned(columns: &[Column]) -> String {
    let mut table = plain();
    table.set_header(columns.iter().map(|column| column.header.clone()));
    let rows = columns.first().map_or(0, |column| column.lines.len());
    for row in 0..rows {
        let cells = columns.iter().filter_map(|column| column.lines.get(row));
        table.add_row(cells.cloned());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    trimmed(&mut table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    table
}

fn trimmed(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    table.trim_fmt()
}

/// Columns of a table in print and on most terminals.
const WIDTH_MAX: usize = 110;

/// Columns of the narrowest terminals in use.
const WIDTH_MIN: usize = 80;

const HEADER_WIDTH: usize = 12;

const GAP: usize = 2;

#[cfg(test)]
mod tests;

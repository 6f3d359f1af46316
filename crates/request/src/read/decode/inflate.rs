//! Inflates what is deflated (RFC 1951).

mod bits;
mod code;
mod window;

use super::{Output, Undecodable};
use code::Code;

pub(super) use bits::Bits;
pub(super) use window::Window;

/// Inflates up to the end of the last block. All that comes out goes to `output`, and to `seen`.
pub(super) fn inflate(
    bits: &mut Bits<'_>,
    window: &mut Window,
    output: &mut Output<'_>,
    seen: &mut dyn FnMut(&[u8]),
) -> Result<(), Undecodable> {
    loop {
        output.begin_block()?;
        let is_last = bits.take(1)? == 1;
        let codes = match bits.take(2)? {
            0 => None,
            1 => Some(fixed_codes()?),
            2 => Some(dynamic_codes(bits)?),
            _ => return Err(Undecodable),
        };
        let mut flush = |window: &mut Window| window.flush(output, seen);
        match codes {
            None => stored_block(bits, window, &mut flush)?,
            Some((symbols, distances)) => {
                coded_block(bits, &symbols, &distances, window, &mut flush)?;
            }
        }
        if is_last {
            return flush(window);
        }
    }
}

type Flush<'f> = &'f mut dyn FnMut(&mut Window) -> Result<(), Undecodable>;

fn stored_block(
    bits: &mut Bits<'_>,
    window: &mut Window,
    flush: Flush<'_>,
) -> Result<(), Undecodable> {
    bits.align();
    let mut length = bits.take(16)?;
    if bits.take(16)? != length ^ 0xffff {
        return Err(Undecodable);
    }
    while length > 0 {
        if window.is_full() {
            flush(window)?;
        }
        window.put(bits.take(8)?.to_le_bytes()[0]);
        length -= 1;
    }
    Ok(())
}

fn coded_block(
    bits: &mut Bits<'_>,
    symbols: &Code,
    distances: &Code,
    window: &mut Window,
    flush: Flush<'_>,
) -> Result<(), Undecodable> {
    loop {
        if window.is_full() {
            flush(window)?;
        }
        let symbol = bits.symbol(symbols)?;
        let Some(length) = symbol.checked_sub(END_OF_BLOCK) else {
            window.put(symbol.to_le_bytes()[0]);
            continue;
        };
        let Some(length) = length.checked_sub(1) else {
            return Ok(());
        };
        let length = LENGTHS.read(bits, length)?;
        let distance = bits.symbol(distances)?;
        let distance = DISTANCES.read(bits, distance)?;
        window.repeat(distance, length)?;
    }
}

/// The codes of a block that uses those of the standard.
fn fixed_codes() -> Result<(Code, Code), Undecodable> {
    let mut lengths = [8; SYMBOLS];
    for (symbol, length) in lengths.iter_mut().enumerate() {
        match symbol {
            144..=255 => *length = 9,
            256..=279 => *length = 7,
            _ => {}
        }
    }
    Ok((Code::new(&lengths)?, Code::new(&[5; 32])?))
}

/// The codes that a block brings along.
fn dynamic_codes(bits: &mut Bits<'_>) -> Result<(Code, Code), Undecodable> {
    let symbols = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let given = bits.take(4)? as usize + 4;
    if symbols > 286 || distances > 30 {
        return Err(Undecodable);
    }
    let mut lengths = [0; 19];
    for &symbol in LENGTH_ORDER.iter().take(given) {
        *lengths.get_mut(symbol).ok_or(Undecodable)? = bits.take(3)?.to_le_bytes()[0];
    }
    let code = Code::new(&lengths)?;
    if !code.is_complete() {
        return Err(Undecodable);
    }

    let mut lengths = [0; SYMBOLS + 32];
    let mut at = 0;
    let wanted = symbols + distances;
    while at < wanted {
        let symbol = bits.symbol(&code)?;
        let before = at.checked_sub(1).and_then(|at| lengths.get(at)).copied();
        let (length, times) = match symbol {
            16 => (before.ok_or(Undecodable)?, bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            _ => (symbol.to_le_bytes()[0], 1),
        };
        let end = at + times as usize;
        if end > wanted {
            return Err(Undecodable);
        }
        lengths.get_mut(at..end).ok_or(Undecodable)?.fill(length);
        at = end;
    }
    let (symbol_lengths, rest) = lengths.split_at(symbols);
    if symbol_lengths.get(usize::from(END_OF_BLOCK)) == Some(&0) {
        return Err(Undecodable);
    }
    let distance_lengths = rest.get(..distances).ok_or(Undecodable)?;
    Ok((Code::new(symbol_lengths)?, Code::new(distance_lengths)?))
}

/// The numbers that symbols stand for, together with some bits after them.
struct Numbers<const N: usize> {
    least: [u16; N],
    bits: [u8; N],
}

impl<const N: usize> Numbers<N> {
    fn read(&self, bits: &mut Bits<'_>, symbol: u16) -> Result<usize, Undecodable> {
        let least = self.least.get(usize::from(symbol)).ok_or(Undecodable)?;
        let more = self.bits.get(usize::from(symbol)).ok_or(Undecodable)?;
        Ok(usize::from(*least) + bits.take((*more).into())? as usize)
    }
}

const END_OF_BLOCK: u16 = 256;

/// Symbols of the code for literals and lengths, two of which stand for nothing.
const SYMBOLS: usize = 288;

/// The order in which lengths of the code for lengths come.
const LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// For each symbol after [`END_OF_BLOCK`] the shortest repetition, and how many bits add to it.
const LENGTHS: Numbers<29> = Numbers {
    least: [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
        131, 163, 195, 227, 258,
    ],
    bits: [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ],
};

/// For each symbol the shortest distance, and how many bits add to it.
const DISTANCES: Numbers<30> = Numbers {
    least: [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
        2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
    ],
    bits: [
        0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12,
        13, 13,
    ],
};

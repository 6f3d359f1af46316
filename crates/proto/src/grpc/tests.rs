use proptest::prelude::*;

use super::*;

const LIMIT: u32 = 8;

fn framed(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    let mut bytes = vec![flags];
    bytes.extend(length.to_be_bytes());
    bytes.extend(message);
    bytes
}

fn whole(message: &[u8]) -> Frame {
    Frame {
        compressed: false,
        message: FrameBody::Whole(Bytes::copy_from_slice(message)),
    }
}

/// The frames of a body that comes in these pieces.
fn frames(pieces: &[Bytes]) -> Vec<Frame> {
    let mut frames = Frames::new(LIMIT);
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece, |frame| found.push(frame));
    }
    found
}

#[test]
fn frames_come_in_order_with_their_flags() {
    let body = [framed(0, b"one"), framed(1, b"two"), framed(0x80, b"")].concat();
    let compressed = |message| Frame {
        compressed: true,
        ..whole(message)
    };
    assert_eq!(
        frames(&[body.into()]),
        [whole(b"one"), compressed(b"two"), compressed(b"")]
    );
}

#[test]
fn a_message_in_one_piece_is_not_copied() {
    let piece = Bytes::from(framed(0, b"message"));
    let found = frames(core::slice::from_ref(&piece));
    let [
        Frame {
            message: FrameBody::Whole(message),
            ..
        },
    ] = found.as_slice()
    else {
        panic!("one frame: {found:?}");
    };
    assert_eq!(message.as_ptr(), piece[FrameHeader::BYTES..].as_ptr());
}

#[test]
fn a_message_over_the_limit_is_passed_over_and_the_next_is_found() {
    let body = [framed(0, &[7; 9]), framed(0, &[8; 8])].concat();
    assert_eq!(
        frames(&[body.into()]),
        [
            Frame {
                compressed: false,
                message: FrameBody::PassedOver(9),
            },
            whole(&[8; 8]),
        ]
    );
}

#[test]
fn a_length_that_never_comes_costs_no_memory() {
    let mut frames = Frames::new(u32::MAX);
    let claim = [0, 0xff, 0xff, 0xff, 0xff, b'x'];
    frames.push(&Bytes::copy_from_slice(&claim), |frame| {
        panic!("no frame: {frame:?}")
    });
    let Part::Message { missing, kept, .. } = frames.part else {
        panic!("within the message");
    };
    assert_eq!(missing, u32::MAX - 1);
    assert!(kept.capacity() < 1024, "{}", kept.capacity());
}

#[test]
fn a_message_takes_at_most_twice_what_has_come_and_when_whole_exactly_its_length() {
    const MESSAGE_BYTES: usize = 100_000;
    let mut frames = Frames::new(u32::MAX);
    let body = Bytes::from(framed(0, &[7; MESSAGE_BYTES]));
    let mut found = Vec::new();
    let mut came = 0;
    for piece in body.chunks(999) {
        frames.push(&Bytes::copy_from_slice(piece), |frame| found.push(frame));
        came += piece.len();
        let kept = frames.kept_bytes();
        assert!(kept <= (2 * came).min(MESSAGE_BYTES), "{kept} of {came}");
        let is_whole = came == body.len();
        assert_eq!(frames.is_between(), is_whole);
        assert!(is_whole || kept >= came - FrameHeader::BYTES);
    }
    assert_eq!(frames.kept_bytes(), 0);
    let [Frame { message, .. }] = &found[..] else {
        panic!("one frame: {}", found.len());
    };
    let FrameBody::Whole(message) = message.clone() else {
        panic!("not whole: {message:?}");
    };
    drop(found);
    // The vector that it was gathered in comes back, as nobody else has it.
    let message = Vec::from(message);
    assert_eq!(
        (message.len(), message.capacity()),
        (MESSAGE_BYTES, MESSAGE_BYTES)
    );
}

#[test]
fn a_message_that_nobody_wants_is_freed_and_the_next_is_found() {
    let mut frames = Frames::new(LIMIT);
    let body = Bytes::from([framed(1, &[7; 8]), framed(0, &[8; 8])].concat());
    let mut rest = body.slice(..9);
    assert_eq!(frames.next(&mut rest), None);
    assert!(rest.is_empty());
    let begun = FrameHeader {
        compressed: true,
        message_bytes: 8,
    };
    assert_eq!(frames.begun(), Some(begun));
    assert!(frames.kept_bytes() > 0);
    frames.pass_over();
    assert_eq!(frames.kept_bytes(), 0);
    assert!(!frames.is_between());
    let mut found = Vec::new();
    frames.push(&body.slice(9..), |frame| found.push(frame));
    let passed_over = Frame {
        compressed: true,
        message: FrameBody::PassedOver(8),
    };
    assert_eq!(found, [passed_over, whole(&[8; 8])]);
    frames.pass_over();
    assert_eq!(frames.begun(), None);
    assert!(frames.is_between());
}

#[test]
fn a_frame_that_is_cut_is_nobodys() {
    let body = framed(0, b"message");
    for end in 0..body.len() {
        assert_eq!(frames(&[Bytes::copy_from_slice(&body[..end])]), []);
    }
}

proptest! {
    #[test]
    fn how_a_body_is_cut_into_pieces_changes_nothing(
        messages in proptest::collection::vec((any::<u8>(), 0..12_usize), 0..6),
        tail in proptest::collection::vec(any::<u8>(), 0..5),
        cuts in proptest::collection::vec(0..80_usize, 0..10),
    ) {
        let mut body: Vec<u8> = messages
            .iter()
            .flat_map(|&(flags, length)| framed(flags, &vec![flags; length]))
            .collect();
        body.extend(tail);
        let whole = frames(&[Bytes::from(body.clone())]);
        prop_assert_eq!(whole.len(), messages.len());
        let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces: Vec<Bytes> = cuts
            .windows(2)
            .map(|pair| Bytes::copy_from_slice(&body[pair[0]..pair[1]]))
            .collect();
        prop_assert_eq!(frames(&pieces), whole.clone());
        let bytes: Vec<Bytes> = body.chunks(1).map(Bytes::copy_from_slice).collect();
        prop_assert_eq!(frames(&bytes), whole);
    }

    #[test]
    fn no_bytes_panic(pieces in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..40), 0..8,
    )) {
        let pieces: Vec<Bytes> = pieces.into_iter().map(Bytes::from).collect();
        for frame in frames(&pieces) {
            if let FrameBody::Whole(message) = frame.message {
                prop_assert!(message.len() <= LIMIT as usize);
            }
        }
    }
}

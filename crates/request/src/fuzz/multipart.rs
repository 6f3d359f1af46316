//! Uploads in parts.

use super::*;

/// An input is a body, cut where it has the byte [`CUT`].
#[test]
fn upload() {
    let head = post(
        "/v1/audio/transcriptions",
        &[("content-type", "multipart/form-data; boundary=X")],
    );
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let pieces = cut(input);
            let reading = read(&head, &pieces).expect("an upload demands nothing");
            if let Some(renamed) = renamed(&head, &pieces, &reading) {
                assert!(
                    renamed
                        .windows(OTHER.len())
                        .any(|it| it == OTHER.as_bytes())
                );
            }
        });
}
